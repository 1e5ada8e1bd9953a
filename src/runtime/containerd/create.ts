// Makes the Runtime of a container runtime that listens on a CRI socket.

import type { Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import type { Clock } from '#machinery/clock.ts';
import { CriConnection } from './connection.ts';
import { ImageMounts } from './image-mounts.ts';
import { ContainerdImages } from './images.ts';
import { ContainerdRuntime } from './runtime.ts';

export interface ContainerdRuntimeConfig {
  /** The runtime's CRI socket: unix:///run/containerd/containerd.sock, or a path. */
  readonly endpoint: string;
  /**
   * Where images that are volumes are mounted for a containerd that cannot (before 2.1). Default:
   * /run/coxswain/image-volumes.
   */
  readonly imageVolumesDir?: string;
  /** For deadlines. Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Connects when it is first used; nothing is checked here. Works with every runtime that speaks CRI
 * v1.
 */
export function createContainerdRuntime(config: ContainerdRuntimeConfig): Runtime {
  const clock = config.clock ?? systemClock;
  const connection = new CriConnection(config.endpoint, clock);
  const dir = config.imageVolumesDir ?? '/run/coxswain/image-volumes';
  return {
    name: 'containerd',
    runtime: new ContainerdRuntime(connection, clock, new ImageMounts({ connection, dir })),
    images: new ContainerdImages(connection),
    close: () => Promise.resolve(connection.close()),
  };
}
