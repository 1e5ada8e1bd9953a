// The systemd unit is valid, and it starts the command with flags that the command has.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../src/cli/cox.ts';

const unit = join(import.meta.dirname, '..', 'packaging', 'coxswain.service');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** Returns the names of the long flags in a command line. */
const flagsIn = (command: string): string[] => command.match(/--[a-z-]+/g) ?? [];

describe('coxswain.service', () => {
  test.skipIf(!hasSystemd)('is valid (needs systemd-analyze)', () => {
    const output = execFileSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    expect(output).toBe('');
  });

  test('uses flags of cox up', () => {
    const command = /^ExecStart=.* cox up (.*)$/m.exec(readFileSync(unit, 'utf8'))?.[1] ?? '';
    const up = createProgram().commands.find((each) => each.name() === 'up');
    const known = up?.options.map(({ long }) => long);
    expect(flagsIn(command)).not.toHaveLength(0);
    for (const flag of flagsIn(command)) expect(known).toContain(flag);
  });
});

test('the Dockerfile uses flags of cox up', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '..', 'Dockerfile'), 'utf8');
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
  expect(command[0]).toBe('up');
  const up = createProgram().commands.find((each) => each.name() === 'up');
  const known = up?.options.map(({ long }) => long);
  for (const flag of command.filter((word) => word.startsWith('--'))) expect(known).toContain(flag);
});
