// Creates the process runtime, without isolation and with it.

import { statfs } from 'node:fs/promises';
import { type Runtime, toNanoseconds } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { SYSTEM_PATH } from '#machinery/execute.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import type { HttpGet } from '../images/registry-client.ts';
import { NamedImages } from '../named-images.ts';
import { Isolation } from './isolation/isolation.ts';
import { ProcessRuntime, type ProcessRuntimeConfig } from './runtime.ts';
import { absoluteOnly } from './supervisor.ts';

export interface IsolatedRuntimeConfig extends ProcessRuntimeConfig {
  /** Reads from registries. Default: fetch. */
  readonly httpGet?: HttpGet;
  /** The addresses of pods. Default: 10.86.0.0/16. */
  readonly podCidr?: string;
  /** The base URL that serves the images of a registry, by the registry's host. */
  readonly registryMirrors?: ReadonlyMap<string, string>;
}

/**
 * Creates the runtime with containers in namespaces, made from pulled images. Rejects if this
 * system lacks a program or a right that this needs.
 */
export async function createIsolatedRuntime(config: IsolatedRuntimeConfig): Promise<Runtime> {
  const { clock = systemClock, random = systemRandom, logger = silentLogger } = config;
  const path = absoluteOnly(config.path ?? process.env['PATH'] ?? SYSTEM_PATH);
  const { httpGet = fetch } = config;
  const isolation = await Isolation.create({ ...config, httpGet, path, clock, random, logger });
  const runtime = new ProcessRuntime(config, isolation.images, isolation);
  return {
    name: 'process',
    runtime,
    images: isolation.images,
    close: () => {
      isolation.close();
      return Promise.resolve(runtime.close());
    },
  };
}

/**
 * Creates the runtime, and takes over the containers that a former runtime has left in `stateDir`.
 */
export function createProcessRuntime(config: ProcessRuntimeConfig): Runtime {
  const clock = config.clock ?? systemClock;
  const images = new NamedImages({
    clock,
    usage: async () => {
      const { bsize, blocks, bfree, files, ffree } = await statfs(config.stateDir);
      return {
        timestamp: toNanoseconds(clock.now()),
        fsId: { mountpoint: config.stateDir },
        usedBytes: { value: (blocks - bfree) * bsize },
        inodesUsed: { value: files - ffree },
      };
    },
  });
  const runtime = new ProcessRuntime(config, images);
  return { name: 'process', runtime, images, close: () => Promise.resolve(runtime.close()) };
}
