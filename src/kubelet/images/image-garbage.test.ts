import { expect, test } from 'vitest';
import type { Container, Image, ImageService } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { ImageGarbage, type ImageGarbageConfig } from './image-garbage.ts';
import { bytesToFree, DEFAULT_IMAGE_GC } from './image-records.ts';

const { signal } = new AbortController();
const MINUTE = 60_000;

function image(id: string, size: number, pinned = false): Image {
  return { id, size, pinned, repoTags: [`${id}:latest`], repoDigests: [], username: '' };
}

interface Setup {
  readonly garbage: ImageGarbage;
  readonly clock: VirtualClock;
  readonly removed: string[];
  readonly warnings: string[];
  images: Image[];
  used: string[];
  volumes: string[];
  disk: { capacityBytes: number; availableBytes: number };
}

function setUp(policy: Partial<ImageGarbageConfig['policy']> = {}): Setup {
  const clock = new VirtualClock();
  const removed: string[] = [];
  const warnings: string[] = [];
  const state: Omit<Setup, 'garbage'> = {
    clock,
    removed,
    warnings,
    images: [],
    used: [],
    volumes: [],
    disk: { capacityBytes: 1000, availableBytes: 500 },
  };
  const images: Pick<ImageService, 'listImages' | 'removeImage'> = {
    listImages: () => Promise.resolve(state.images),
    removeImage: ({ image: id = '' }) => {
      if (id.startsWith('stuck')) return Promise.reject(new Error(`${id} is stuck`));
      removed.push(id);
      state.images = state.images.filter((one) => one.id !== id);
      return Promise.resolve();
    },
  };
  const containers = (): Container[] =>
    state.used.map((name): Container => ({
      id: name,
      podSandboxId: '',
      imageRef: name,
      imageId: '',
      state: 'CONTAINER_EXITED',
      createdAt: 0,
      labels: {},
      annotations: {},
    }));
  const garbage = new ImageGarbage({
    clock,
    logger: silentLogger,
    images: images as ImageService,
    runtime: { listContainers: () => Promise.resolve(containers()) },
    policy: { ...DEFAULT_IMAGE_GC, ...policy },
    volumeImages: () => new Set(state.volumes),
    fileSystem: () => Promise.resolve(state.disk),
    warn: (reason, message) => warnings.push(`${reason}: ${message}`),
    onRemoved: () => undefined,
  });
  return Object.assign(state, { garbage });
}

test('above the high threshold, the images that were unused for the longest time go', async () => {
  const setup = setUp();
  setup.images = ['a', 'b', 'c', 'd'].map((id) => image(id, 100));
  setup.used = ['a', 'b', 'c', 'd'];
  await setup.garbage.collect(signal);
  for (const used of [['b', 'c', 'd'], ['c', 'd'], ['d']]) {
    await setup.clock.advance('3m');
    setup.used = used;
    await setup.garbage.collect(signal);
  }
  await setup.clock.advance('3m');
  setup.disk = { capacityBytes: 1000, availableBytes: 60 };
  await setup.garbage.collect(signal);
  // 140 bytes are missing to 80 %.
  expect(setup.removed).toEqual(['a', 'b']);
});

test('images in use, of volumes, pinned and young ones stay', async () => {
  const setup = setUp();
  setup.images = [
    image('used', 10),
    image('volume', 10),
    image('pinned', 10, true),
    image('unused', 10),
  ];
  setup.used = ['used:latest'];
  setup.volumes = ['volume:latest'];
  await setup.garbage.removeUnused(signal);
  expect(setup.removed).toEqual([]);
  await setup.clock.advance('2m');
  setup.images.push(image('young', 10));
  await setup.garbage.removeUnused(signal);
  expect(setup.removed).toEqual(['unused']);
});

test('too little to remove is an event', async () => {
  const setup = setUp();
  setup.images = [image('small', 10)];
  await setup.garbage.collect(signal);
  await setup.clock.advance('2m');
  setup.disk = { capacityBytes: 10 * 1024 ** 2, availableBytes: 1024 ** 2 };
  const message =
    "Insufficient free disk space on the node's image filesystem (90% of 10.0 MiB used). Failed " +
    'to free sufficient space by deleting unused images (freed 10 bytes). Investigate disk usage, ' +
    'as it could be used by active images, logs, volumes, or other data.';
  await expect(setup.garbage.collect(signal)).rejects.toThrow(message);
  expect(setup.warnings).toEqual([`FreeDiskSpaceFailed: ${message}`]);
});

test('a failed removal does not keep the others', async () => {
  const setup = setUp();
  setup.images = [image('stuck', 10), image('free', 10)];
  await setup.garbage.collect(signal);
  await setup.clock.advance('2m');
  await expect(setup.garbage.removeUnused(signal)).rejects.toThrow(
    'errors in image deletion: stuck is stuck',
  );
  expect(setup.removed).toEqual(['free']);
});

test('old images go without a shortage, but not before their age is known', async () => {
  const setup = setUp({ maxAgeMs: 60 * MINUTE });
  setup.images = [image('old', 10), image('kept', 10)];
  setup.used = ['kept'];
  await setup.garbage.collect(signal);
  await setup.clock.advance('1h');
  await setup.garbage.collect(signal);
  expect(setup.removed).toEqual([]);
  await setup.clock.advance('1m');
  await setup.garbage.collect(signal);
  expect(setup.removed).toEqual(['old']);
});

test('the event of a failure is recorded from the second one on', async () => {
  const setup = setUp();
  setup.disk = { capacityBytes: 0, availableBytes: 0 };
  const stop = new AbortController();
  const running = setup.garbage.run(stop.signal);
  await setup.clock.advance('1m');
  expect(setup.warnings).toEqual(['InvalidDiskCapacity: invalid capacity 0 on image filesystem']);
  await setup.clock.advance('5m');
  expect(setup.warnings.at(-1)).toBe('ImageGCFailed: invalid capacity 0 on image filesystem');
  stop.abort();
  await running;
});

test('the goal is the low threshold', () => {
  const policy = { highThresholdPercent: 85, lowThresholdPercent: 80 };
  expect(bytesToFree(policy, 1000, 160)).toBeUndefined();
  expect(bytesToFree(policy, 1000, 150)).toEqual({ usagePercent: 85, bytes: 50 });
  expect(bytesToFree(policy, 1000, 2000)).toBeUndefined();
});
