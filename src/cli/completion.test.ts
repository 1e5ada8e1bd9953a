import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { completionScript, SHELLS } from './completion.ts';
import { createProgram } from './cox.ts';

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true']);
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

describe.skipIf(!has('bash'))('completion in bash (needs bash)', () => {
  test('of commands', () => {
    expect(offered('cox', 'sn')).toEqual(['snapshot']);
    expect(offered('cox', 'snapshot', 're')).toEqual(['restore']);
    expect(offered('cox', '')).toEqual(
      expect.arrayContaining(['up', 'down', 'completion', 'version']),
    );
  });

  test('of flags', () => {
    expect(offered('cox', 'up', '--run')).toEqual(['--runtime-config', '--runtime']);
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

describe.skipIf(!has('fish'))('completion in fish (needs fish)', () => {
  const offeredByFish = (line: string): string[] => {
    const script = `${completionScript(createProgram(), 'fish')}\ncomplete -C ${JSON.stringify(line)}`;
    return execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' })
      .split('\n')
      .filter((each) => each !== '')
      .map((each) => each.split('\t')[0] ?? '');
  };

  test('of commands, flags and choices', () => {
    expect(offeredByFish('cox sn')).toEqual(['snapshot']);
    expect(offeredByFish('cox snapshot re')).toEqual(['restore']);
    expect(offeredByFish('cox up --run')).toEqual(['--runtime', '--runtime-config']);
    expect(offeredByFish('cox up --runtime con')).toEqual(['containerd']);
  });
});

describe.skipIf(!has('zsh'))('completion in zsh (needs zsh)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'cox-completion-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Types the line and a tab into an interactive zsh, and waits until the completed line appears. */
  const completes = (line: string, completed: string): void => {
    const script = join(directory, 'completion.zsh');
    writeFileSync(script, completionScript(createProgram(), 'zsh'));
    const session = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='> '; autoload -U compinit && compinit -u -D; source ${script}; echo re''ady"
zpty -r shell output '*ready*'
zpty -w -n shell "$1"$'\\t'
zpty -r shell output "*$2*"
zpty -d shell`;
    execFileSync('zsh', ['-f', '-c', session, 'zsh', line, completed], { timeout: 20_000 });
  };

  test('of commands, flags and choices', () => {
    completes('cox sn', 'cox snapshot');
    completes('cox snapshot re', 'cox snapshot restore');
    completes('cox up --pod-n', 'cox up --pod-network');
    completes('cox up --runtime con', 'cox up --runtime containerd');
  });
});

test.each(SHELLS)('the script for %s names every command', (shell) => {
  const script = completionScript(createProgram(), shell);
  for (const { commands } of [createProgram()])
    for (const command of commands) expect(script).toContain(command.name());
});
