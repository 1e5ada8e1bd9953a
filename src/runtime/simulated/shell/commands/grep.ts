// grep, egrep and fgrep.

import { CommandError, type CommandFunction, parseOptions, print } from '../process.ts';
import { RegularExpression } from '../regular-expression.ts';
import { eachInput, linesOf } from './inputs.ts';

export const grep: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'iEFvcnqwxolhHs', 'e', [
    '--color=',
    '--',
  ]);
  const rest = [...operands];
  const pattern = values.get('e') ?? rest.shift();
  if (pattern === undefined) throw new CommandError('usage: grep PATTERN [FILE]...', 2);
  const kind =
    flags.has('F') || process.name === 'fgrep'
      ? 'fixed'
      : flags.has('E') || process.name === 'egrep'
        ? 'extended'
        : 'basic';
  const wrap = (source: string): string => {
    const word = flags.has('w') ? `\\b(?:${source})\\b` : source;
    return flags.has('x') ? `^(?:${word})$` : word;
  };
  const expression = new RegularExpression(pattern, kind, flags.has('i') ? 'i' : '', wrap);
  let found = false;
  const named = (rest.length > 1 || flags.has('H')) && !flags.has('h');
  const code = await eachInput(process, rest, async (input, path) => {
    let matches = 0;
    let number = 0;
    for await (const line of linesOf(process, input)) {
      number++;
      if (expression.test(line) === flags.has('v')) continue;
      matches++;
      found = true;
      if (flags.has('q') || flags.has('l')) break;
      if (flags.has('c')) continue;
      const prefix = `${named ? `${path}:` : ''}${flags.has('n') ? `${number}:` : ''}`;
      const shown = flags.has('o') ? expression.matches(line) : [line];
      await print(process, shown.map((each) => `${prefix}${each}\n`).join(''));
    }
    if (flags.has('c')) await print(process, `${named ? `${path}:` : ''}${matches}\n`);
    if (flags.has('l') && matches > 0) await print(process, `${path}\n`);
  });
  if (code !== 0) return 2;
  return found ? 0 : 1;
};
