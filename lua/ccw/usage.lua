--- How the help of a verb is laid out.
local terminal = require "ccw.terminal"

local MOST = 100 -- columns; longer lines are hard to read

--- fit(parser [, epilog]) -> parser. Has the help of a parser of argparse's fill the terminal's lines. In the epilog an empty line parts
--- paragraphs, and the other ends of lines are none.
return function(parser, epilog)
  parser:help_max_width(math.min(terminal.columns(), MOST))
  if epilog then parser:epilog((epilog:gsub("([^\n])\n([^\n])", "%1 %2"))) end
  return parser
end
