std = "lua54"
max_line_length = 140
files["spec/**/*_spec.lua"] = { std = "+busted" }
files["spec/testing/*.lua"] = { std = "+busted" }
files["scripts/lessons/*.lua"] = { globals = { "ccw", "lesson" }, ignore = { "211", "43." } } -- what it makes is for those who type
files["spec/lessons/answers.lua"] = { max_line_length = false } -- answers are lines, as they are typed
