// The help of every command at a terminal of 80 columns.

import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from './cox.ts';

/** Examples may be long commands. */
const MAX_WIDTH = 120;

const all = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap((each) => all(each)),
];

/** Returns what `--help` prints, with the examples. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return text;
}

test.each(all(createProgram()).map((command) => [command.name(), command] as const))(
  'the help of %s fits, and has values as they are typed',
  (_, command) => {
    const lines = helpOf(command).split('\n');
    expect(lines.filter((line) => line.length > MAX_WIDTH)).toEqual([]);
    expect(lines.filter((line) => /preset:|default: ["[{]/.test(line))).toEqual([]);
  },
);
