import { Command } from 'commander';
import { expect, test } from 'vitest';
import { type WorkerFlags, withWorkerFlags, workersOf } from './worker-flags.ts';

const logging = { level: 'warn' } as const;

function parse(...args: string[]): WorkerFlags {
  const command = withWorkerFlags(new Command())
    .exitOverride()
    .configureOutput({
      writeErr: () => undefined,
    });
  command.parse(args, { from: 'user' });
  return command.opts();
}

test.each([
  [[], 2, undefined],
  [[], 8, { min: 0, max: 6, logging }],
  [['--api-server-workers', 'auto'], 1, undefined],
  [['--api-server-workers', '0'], 8, undefined],
  [['--api-server-workers', '3'], 1, { min: 0, max: 3, logging }],
  [['--api-server-workers', '3', '--api-server-workers-min', '2'], 1, { min: 2, max: 3, logging }],
  [['--api-server-workers-min', '2'], 2, { min: 2, max: 2, logging }],
] as const)('%j on %i cores', (args, cores, expected) => {
  expect(workersOf(parse(...args), logging, cores)).toEqual(expected);
});

test.each(['-1', '65', 'many', '1.5', ''])('rejects %j', (text) => {
  expect(() => parse('--api-server-workers', text)).toThrow(/whole number/);
});

test('rejects a minimum above the maximum', () => {
  const flags = parse('--api-server-workers', '1', '--api-server-workers-min', '2');
  expect(() => workersOf(flags, logging)).toThrow('is more than --api-server-workers 1');
});
