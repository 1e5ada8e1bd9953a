import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { completionScript, SHELLS } from './completion.ts';
import { createProgram } from './cox.ts';

const hasBash = (): boolean => {
  try {
    execFileSync('bash', ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
};

/** Returns what bash offers for the last word of a command line. */
function offered(...words: readonly string[]): string[] {
  const script = `${completionScript(createProgram(), 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script, 'bash', ...words], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
    .split('\n')
    .filter((line) => line !== '');
}

describe.skipIf(!hasBash())('completion in bash (needs bash)', () => {
  test('of commands', () => {
    expect(offered('cox', 'sn')).toEqual(['snapshot']);
    expect(offered('cox', 'snapshot', 're')).toEqual(['restore']);
    expect(offered('cox', '')).toEqual(
      expect.arrayContaining(['up', 'down', 'completion', 'version']),
    );
  });

  test('of flags', () => {
    expect(offered('cox', 'up', '--run')).toEqual(['--runtime', '--runtime-config']);
    expect(offered('cox', 'down', '--d')).toEqual(['--data-dir']);
  });

  test('of values: choices, and files', () => {
    expect(offered('cox', 'up', '--runtime', 'con')).toEqual(['containerd']);
    expect(offered('cox', 'up', '--scheduler-config', 'completion.t')).toEqual(
      ['completion.ts', 'completion.test.ts'].sort(),
    );
    expect(offered('cox', 'completion', 'f')).toEqual(['fish']);
  });
});

test.each(SHELLS)('the script for %s names every command', (shell) => {
  const script = completionScript(createProgram(), shell);
  for (const { commands } of [createProgram()])
    for (const command of commands) expect(script).toContain(command.name());
});
