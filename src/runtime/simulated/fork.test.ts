// Forks of a simulated node: both sides go on as if there were only one.

import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { RuntimeService } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { NodeState } from './node-state.ts';
import { createSimulatedRuntime, type SimulatedNodeRuntime } from './runtime.ts';

interface Side {
  readonly clock: VirtualClock;
  readonly runtime: SimulatedNodeRuntime;
  readonly service: RuntimeService;
  readonly random: SeededRandom;
}

function makeSide(from?: { readonly side: Side; readonly state: NodeState }): Side {
  const clock = new VirtualClock(from === undefined ? {} : { start: from.side.clock.now() });
  const random =
    from === undefined ? new SeededRandom('n') : SeededRandom.fromState(from.side.random.state());
  const runtime = createSimulatedRuntime({
    clock,
    random,
    memoryLogs: true,
    ...(from !== undefined && { state: from.state }),
  });
  return { clock, runtime, service: runtime.runtime, random };
}

async function fork(side: Side): Promise<Side> {
  await side.clock.settle();
  return makeSide({ side, state: side.runtime.freeze() });
}

async function addPod(
  { service }: Side,
  name: string,
  command: readonly string[],
  annotations: Readonly<Record<string, string>> = {},
): Promise<string> {
  const config = { metadata: { name, namespace: 'n', uid: name }, annotations, hostname: name };
  const sandbox = await service.runPodSandbox(config);
  const id = await service.createContainer(
    sandbox,
    {
      metadata: { name: 'c' },
      image: { image: 'app' },
      command,
      mounts: [{ containerPath: '/data', hostPath: '/volumes/data' }],
    },
    config,
  );
  await service.startContainer(id);
  return id;
}

/** Returns the log without the lines' tags. */
function logOf({ service }: Side, id: string): string {
  const log = service.memoryLog?.(id);
  return log === undefined
    ? ''
    : log
        .read(0, 1e6)
        .toString()
        .replaceAll(/ std\w+ F/g, '');
}

async function exec({ service }: Side, id: string, script: string): Promise<string> {
  const stdout = new PassThrough();
  const output = text(stdout);
  await service.exec(id, { command: ['sh', '-c', script] }, { stdout });
  return output;
}

async function contentOf(side: Side): Promise<unknown> {
  const containers = await side.service.listContainers();
  const statuses = await Promise.all(containers.map(({ id }) => side.service.containerStatus(id)));
  const sandboxes = await side.service.listPodSandbox();
  const logs = containers.map(({ id }) => logOf(side, id));
  const files = await Promise.all(
    containers
      .filter(({ state }) => state === 'CONTAINER_RUNNING')
      .map(({ id }) => exec(side, id, 'cat /data/* /tmp/* 2>/dev/null')),
  );
  return { now: side.clock.now(), statuses, sandboxes, logs, files };
}

const COUNT = [
  'sh',
  '-c',
  'i=0; while true; do echo $i; echo $i >> /data/n; i=$((i+1)); sleep 10; done',
];

describe('a fork of a simulated node', () => {
  test.each([15, 20, 0, 30])('goes on where the original is after %i s', async (seconds) => {
    const original = makeSide();
    const id = await addPod(original, 'counter', COUNT);
    await original.clock.advance(seconds * 1000);
    const copy = await fork(original);
    for (const side of [copy, original]) await side.clock.advance('40s');
    expect(await contentOf(copy)).toEqual(await contentOf(original));
    expect(logOf(copy, id).split('\n')).toHaveLength(Math.floor((seconds + 40) / 10) + 2);
    expect(await exec(copy, id, 'cat /data/n')).toBe(await exec(original, id, 'cat /data/n'));
  });

  test('does not see what the original does later, nor the other way round', async () => {
    const original = makeSide();
    const id = await addPod(original, 'server', ['nginx']);
    await exec(original, id, 'echo before > /data/file; echo here > /tmp/here');
    const copies = [await fork(original), await fork(original)] as const;
    await exec(original, id, 'echo original > /data/file; chmod 600 /tmp/here');
    await addPod(original, 'other', ['sh', '-c', 'echo hi']);
    await exec(copies[0], id, 'echo copy >> /data/file; rm /tmp/here');
    const late = await fork(copies[0]);
    await copies[0].service.removePodSandbox(
      (await copies[0].service.listPodSandbox())[0]?.id ?? '',
    );
    expect(await exec(original, id, 'cat /data/file; ls /tmp')).toBe('original\nhere\n');
    expect(await exec(copies[1], id, 'cat /data/file; ls -l /tmp | cut -c1-10')).toBe(
      'before\n-rw-r--r--\n',
    );
    expect(await exec(late, id, 'cat /data/file; ls /tmp')).toBe('before\ncopy\n');
    expect(await copies[0].service.listContainers()).toEqual([]);
    expect(await original.service.listContainers()).toHaveLength(2);
    expect(await copies[1].service.listContainers()).toHaveLength(1);
  });

  test('remembers what ends, when, and which addresses are taken', async () => {
    const original = makeSide();
    await addPod(original, 'sleep', ['sleep', '60']);
    await addPod(original, 'timed', ['nginx'], {
      'simulation.coxswain.dev/run-duration': '90s',
      'simulation.coxswain.dev/exit-code': '7',
    });
    const slow = await addPod(original, 'slow', ['nginx'], {
      'simulation.coxswain.dev/stop-duration': '50s',
    });
    await original.clock.advance('20s');
    const stopping = original.service.stopContainer(slow, 600_000);
    await original.clock.advance('10s');
    const copy = await fork(original);
    for (const step of [29, 1, 9, 1, 20, 1, 60]) {
      for (const side of [copy, original]) await side.clock.advance(step * 1000);
      expect(await contentOf(copy)).toEqual(await contentOf(original));
    }
    await stopping;
    for (const side of [copy, original]) await addPod(side, 'next', ['nginx']);
    expect(await contentOf(copy)).toEqual(await contentOf(original));
  });

  test('and the original, changed at random, are equal to nodes of their own', async () => {
    const scripts = ['sleep 30', 'echo start; sleep 5; echo end', COUNT[2] as string, 'exit 4'];
    const act = async (side: Side, random: SeededRandom, steps: number): Promise<void> => {
      for (let step = 0; step < steps; step++) {
        const containers = await side.service.listContainers();
        const running = containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
        const some = running[random.int(Math.max(1, running.length))];
        const sandbox = (await side.service.listPodSandbox())[0];
        switch (random.int(7)) {
          case 0:
          case 1:
            await addPod(side, `p${random.int(1e9)}`, [
              'sh',
              '-c',
              scripts[random.int(scripts.length)] as string,
            ]);
            break;
          case 2:
            if (some) await exec(side, some.id, `echo $RANDOM >> /data/x; date > /tmp/y`);
            break;
          case 3:
            if (some) await side.service.stopContainer(some.id, 1000);
            break;
          case 4:
            if (sandbox) await side.service.removePodSandbox(sandbox.id);
            break;
          default:
            await side.clock.advance(1000 * (1 + random.int(12)));
        }
        await side.clock.settle();
      }
    };
    const begin = async (): Promise<Side> => {
      const side = makeSide();
      await act(side, new SeededRandom('begin'), 60);
      return side;
    };
    const original = await begin();
    const copy = await fork(original);
    const [left, right] = [new SeededRandom('left'), new SeededRandom('right')];
    for (let round = 0; round < 10; round++) {
      await act(original, left, 8);
      await act(copy, right, 8);
    }
    const leftAlone = await begin();
    await act(leftAlone, new SeededRandom('left'), 80);
    expect(await contentOf(original)).toEqual(await contentOf(leftAlone));
    const rightAlone = await begin();
    await act(rightAlone, new SeededRandom('right'), 80);
    expect(await contentOf(copy)).toEqual(await contentOf(rightAlone));
  });
});
