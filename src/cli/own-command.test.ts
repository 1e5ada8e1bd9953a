import { describe, expect, test } from 'vitest';
import { COMMANDS, ownCommand, typed } from './own-command.ts';

const SCRIPT = '/app/node_modules/coxswain/bin/cox.js';
const files = (links: Readonly<Record<string, string>>) => (path: string) => links[path];

describe('the words to type for the command', () => {
  test('on PATH', () => {
    const realpath = files({ '/usr/bin/cox': SCRIPT });
    expect(ownCommand({ script: '/usr/bin/cox', path: '/bin:/usr/bin', realpath })).toBe('cox');
  });

  test('in node_modules, with npx or without', () => {
    const link = '/app/node_modules/.bin/cox';
    const realpath = files({ [link]: SCRIPT, [SCRIPT]: SCRIPT });
    expect(ownCommand({ script: link, path: '/app/node_modules/.bin:/bin', realpath })).toBe(
      'npx cox',
    );
    expect(ownCommand({ script: SCRIPT, path: '/bin', realpath })).toBe('npx cox');
  });

  test('in a checkout', () => {
    const script = `${process.cwd()}/bin/cox.js`;
    expect(ownCommand({ script, path: '/bin', realpath: files({ [script]: script }) })).toBe(
      'bin/cox.js',
    );
  });

  test('beside another program of that name', () => {
    const script = `${process.cwd()}/bin/cox.js`;
    const realpath = files({ [script]: script, '/bin/cox': '/opt/other/cox' });
    expect(ownCommand({ script, path: '/bin', realpath })).toBe('bin/cox.js');
  });
});

test('messages get the words in place of the command', () => {
  expect(
    typed(
      "stop it with 'cox down --data-dir x'; cox is running\n  $ cox down && cox up",
      'npx cox',
    ),
  ).toBe(
    "stop it with 'npx cox down --data-dir x'; cox is running\n  $ npx cox down && npx cox up",
  );
  expect(typed('stop it with: cox down', 'bin/cox.js')).toBe('stop it with: bin/cox.js down');
  expect(
    typed('A=$(cox envtest) source <(cox completion bash) $ sudo cox runtime', 'bin/cox.js'),
  ).toBe('A=$(bin/cox.js envtest) source <(bin/cox.js completion bash) $ sudo bin/cox.js runtime');
  expect(typed('the coxswain: cox downs', 'npx cox')).toBe('the coxswain: cox downs');
});

test('every command of the program is known, so that messages that name it are right', async () => {
  const { createProgram } = await import('./cox.ts');
  const names = createProgram().commands.map((command) => command.name());
  expect([...COMMANDS].toSorted()).toEqual(names.toSorted());
});
