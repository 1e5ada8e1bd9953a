// Creates the Runtime for a container runtime with a CRI socket.

import type { Runtime } from '#cri/index.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { CriConnection } from './connection.ts';
import { ImageMounts } from './image-mounts.ts';
import { ContainerdImages } from './images.ts';
import { ContainerdRuntime } from './runtime.ts';

export interface ContainerdRuntimeConfig {
  /** The runtime's CRI socket: unix:///run/containerd/containerd.sock, or a path. */
  readonly endpoint: string;
  /**
   * The directory for mounts of image volumes, for a containerd without support for them (before
   * 2.1). Default: /run/coxswain/image-volumes.
   */
  readonly imageVolumesDir?: string;
  /** The clock for deadlines. Default: the system's clock. */
  readonly clock?: Clock;
}

/**
 * Creates the runtime without connecting: the connection is established at the first call. Works
 * with every runtime that supports CRI v1.
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
