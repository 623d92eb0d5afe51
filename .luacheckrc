std = "lua54"
max_line_length = 140
files["spec/**/*_spec.lua"] = { std = "+busted" }
files["spec/testing/*.lua"] = { std = "+busted" }
