import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { OomParser, type OomKill, watchSystemOoms } from './system-oom.ts';

const SYSTEM = [
  'stress invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0',
  'CPU: 1 PID: 4321 Comm: stress Not tainted 5.10.0',
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,' +
    'task_memcg=/user.slice,task=stress,pid=4321,uid=0',
  'Out of memory: Killed process 4321 (stress) total-vm:2097152kB, anon-rss:1048576kB',
];
const CONTAINER = [
  'sh invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=1000',
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=abc,mems_allowed=0,' +
    'oom_memcg=/kubepods/pod1/abc,task_memcg=/kubepods/pod1/abc,task=sh,pid=77,uid=0',
  'Memory cgroup out of memory: Killed process 77 (sh) total-vm:1kB',
];
const LEGACY = [
  'ruby invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0',
  'Task in /mem2 killed as a result of limit of /mem3',
  'Killed process 19667 (ruby) total-vm:2097152kB',
];

function parse(lines: readonly string[]): readonly OomKill[] {
  const parser = new OomParser();
  return lines.flatMap((line) => parser.next(line) ?? []);
}

test('kills of the machine and of cgroups, of old and new kernels', () => {
  expect(parse([...CONTAINER, 'usb 1-1: new device', ...SYSTEM, ...LEGACY])).toEqual([
    { cgroup: '/kubepods/pod1/abc', process: 'sh', pid: 77 },
    { cgroup: '/', process: 'stress', pid: 4321 },
    { cgroup: '/mem3', process: 'ruby', pid: 19_667 },
  ]);
});

test('a line that only looks like the end of a report is none', () => {
  expect(parse(['Killed process 1 (init)', 'nothing'])).toEqual([]);
});

test('new kills of the machine are reported, others are not', async () => {
  const clock = new VirtualClock();
  const reported: string[] = [];
  let pending: readonly string[] = SYSTEM;
  let isClosed = false;
  const stop = new AbortController();
  const watching = watchSystemOoms(
    {
      clock,
      logger: silentLogger,
      open: () =>
        Promise.resolve({
          read: () => {
            const messages = pending;
            pending = [];
            return Promise.resolve(messages);
          },
          close: () => {
            isClosed = true;
            return Promise.resolve();
          },
        }),
      onSystemOom: (message) => reported.push(message),
    },
    stop.signal,
  );
  await clock.advance('10s');
  expect(reported).toEqual([]);
  pending = CONTAINER;
  await clock.advance('10s');
  pending = SYSTEM.slice(0, 2);
  await clock.advance('10s');
  pending = SYSTEM.slice(2);
  await clock.advance('10s');
  expect(reported).toEqual(['System OOM encountered, victim process: stress, pid: 4321']);
  stop.abort();
  await watching;
  expect(isClosed).toBe(true);
});

test('a machine whose messages cannot be read has no watcher', async () => {
  const open = (): Promise<never> => Promise.reject(new Error('EPERM'));
  const config = {
    clock: new VirtualClock(),
    logger: silentLogger,
    open,
    onSystemOom: () => undefined,
  };
  await watchSystemOoms(config, new AbortController().signal);
});
