import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { keepIptablesHint, removeIptablesHint, type RunProgram } from './iptables-hint.ts';

/** A machine whose iptables keeps chains of the table mangle. */
function machine(failing: Readonly<Record<string, string>> = {}): {
  readonly run: RunProgram;
  readonly chains: Set<string>;
  readonly calls: string[];
} {
  const chains = new Set<string>();
  const calls: string[] = [];
  return {
    chains,
    calls,
    run: async (program, args) => {
      calls.push([program, ...args].join(' '));
      const problem = failing[program];
      if (problem !== undefined) throw new Error(problem);
      const chain = `${program} ${args.at(-1)}`;
      if (chains.has(chain)) throw new Error('Command failed: iptables: Chain already exists.');
      chains.add(chain);
    },
  };
}

/** Keeps the hint while `act` runs. */
async function keeping(
  run: RunProgram,
  act: (clock: VirtualClock) => Promise<void>,
  said: string[] = [],
): Promise<void> {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const logger = { ...silentLogger, info: (message: string) => void said.push(message) };
  const kept = keepIptablesHint({ clock, logger, run }, abort.signal);
  await asleep(clock);
  await act(clock);
  abort.abort();
  await kept;
}

async function asleep(clock: VirtualClock): Promise<void> {
  while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
}

test('each family has the chain, and has it again a minute after it was deleted', async () => {
  const { run, chains, calls } = machine();
  await keeping(run, async (clock) => {
    expect([...chains]).toEqual(['iptables KUBE-IPTABLES-HINT', 'ip6tables KUBE-IPTABLES-HINT']);
    chains.delete('iptables KUBE-IPTABLES-HINT');
    await clock.advance('1m');
    await asleep(clock);
    expect(chains.size).toBe(2);
  });
  expect(calls[0]).toBe('iptables -w 5 -t mangle -N KUBE-IPTABLES-HINT');
  expect(calls).toHaveLength(4);
});

test('a family without iptables is left alone after the first attempt', async () => {
  const said: string[] = [];
  const { run, chains, calls } = machine({ ip6tables: 'spawn ip6tables ENOENT' });
  await keeping(
    run,
    async (clock) => {
      await clock.advance('1m');
      await asleep(clock);
    },
    said,
  );
  expect([...chains]).toEqual(['iptables KUBE-IPTABLES-HINT']);
  expect(calls.filter((call) => call.startsWith('ip6tables'))).toHaveLength(1);
  expect(said).toEqual(['no KUBE-IPTABLES-HINT of ip6tables']);
});

test.each([
  'spawn iptables ENOENT',
  'iptables: No chain/target/match by that name.',
  "iptables: can't initialize iptables table `mangle': Table does not exist",
])('nothing to remove is no error: %s', async (problem) => {
  const { run, calls } = machine({ iptables: problem, ip6tables: problem });
  await removeIptablesHint(run);
  expect(calls).toEqual([
    'iptables -w 5 -t mangle -X KUBE-IPTABLES-HINT',
    'ip6tables -w 5 -t mangle -X KUBE-IPTABLES-HINT',
  ]);
});

test('a chain that cannot be removed is an error', async () => {
  const { run } = machine({ iptables: 'Permission denied (you must be root)' });
  await expect(removeIptablesHint(run)).rejects.toThrow('Permission denied');
});
