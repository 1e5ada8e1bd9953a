import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Runtime } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { SimulationJournal } from './journal.ts';
import { createSimulatedRuntime } from './runtime.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'simulated-restart-'));
});
afterEach(() => rm(directory, { recursive: true }));

/**
 * Runs `script` for `leaveMs`, closes the runtime, restores it after `awayMs`, and runs it for
 * `moreMs`.
 */
async function restarted(script: string, leaveMs: number, awayMs: number, moreMs: number) {
  const clock = new VirtualClock();
  const begin = (): { runtime: Runtime; journal: SimulationJournal } => {
    const journal = new SimulationJournal({
      path: join(directory, 'journal'),
      logger: silentLogger,
    });
    return {
      journal,
      runtime: createSimulatedRuntime({
        clock,
        random: new SeededRandom('r'),
        journal: journal.node('n'),
      }),
    };
  };
  const first = begin();
  const config = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, logDirectory: directory };
  const pod = await first.runtime.runtime.runPodSandbox(config);
  const container = {
    metadata: { name: 'c' },
    image: { image: 'app' },
    command: ['sh', '-c', script],
    logPath: 'log',
  };
  const id = await first.runtime.runtime.createContainer(pod, container, config);
  await first.runtime.runtime.startContainer(id);
  await clock.advance(leaveMs);
  await first.runtime.close();
  first.journal.close();
  await clock.advance(awayMs);
  const second = begin();
  await clock.advance(moreMs);
  const { status } = await second.runtime.runtime.containerStatus(id);
  await second.runtime.close();
  second.journal.close();
  const log = await readFile(join(directory, 'log'), 'utf8');
  const lines = log.split('\n').map((line) => line.replace(/^\S+ std\w+ F /, ''));
  return { lines: lines.slice(0, -1), state: status?.state, exitCode: status?.exitCode };
}

const COUNT = 'for i in 1 2 3 4 5; do echo $i; sleep 10; done; exit 3';

test('a program continues as if it had run all the time, and writes nothing twice', async () => {
  expect(await restarted(COUNT, 15_000, 10_000, 10_000)).toEqual({
    lines: ['1', '2', '4'],
    state: 'CONTAINER_RUNNING',
    exitCode: 0,
  });
});

test('a program that would have ended meanwhile has ended', async () => {
  expect(await restarted(COUNT, 15_000, 100_000, 1000)).toEqual({
    lines: ['1', '2'],
    state: 'CONTAINER_EXITED',
    exitCode: 3,
  });
});

test('a loop after many iterations continues', async () => {
  const { lines, state } = await restarted(
    'while true; do sleep 1; echo tick; done',
    500,
    3 * 24 * 3_600_000,
    2500,
  );
  expect([lines, state]).toEqual([['tick', 'tick'], 'CONTAINER_RUNNING']);
});

test.each([
  ['that are at rest', undefined],
  ['that do something', ['sleep', '60']],
])('a node has the images of its containers %s, by their names', async (_, command) => {
  const journal = new SimulationJournal({
    path: join(directory, 'journal'),
    logger: silentLogger,
  });
  const begin = (): Runtime =>
    createSimulatedRuntime({ clock: new VirtualClock(), journal: journal.node('n') });
  const first = begin();
  const config = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, logDirectory: directory };
  const { image } = await first.images.imageStatus({ image: 'app:1' });
  const pod = await first.runtime.runPodSandbox(config);
  const id = await first.runtime.createContainer(
    pod,
    {
      metadata: { name: 'c' },
      // As the kubelet does.
      image: { image: image?.id ?? '', userSpecifiedImage: 'app:1' },
      ...(command !== undefined && { command }),
    },
    config,
  );
  await first.runtime.startContainer(id);
  const before = await first.images.listImages();
  // A node at rest needs no runtime, and gets another one later.
  expect(first.release?.()).toBe(command === undefined);
  await first.close();

  const second = begin();
  expect(await second.images.listImages()).toEqual(before);
  expect(before.map(({ repoTags }) => repoTags)).toEqual([['docker.io/library/app:1']]);
  await second.close();
  journal.close();
});
