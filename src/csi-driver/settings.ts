// The settings of a driver, and what they imply for names and paths.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { DriverHost } from './driver-host.ts';

export interface DriverSettings {
  /** The driver's name, for example 'csi.coxswain.dev'. */
  readonly name: string;
  readonly version: string;
  /** The name of the node. */
  readonly nodeName: string;
  /** The directory with all volumes and snapshots. */
  readonly directory: string;
  /** The number of volumes that the node can have; 0 for any. */
  readonly maxVolumes: number;
  readonly host: DriverHost;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const DEFAULT_NAME = 'csi.coxswain.dev';

/** Returns the label of nodes that says where volumes are. */
export function topologyKey(driver: string): string {
  return `topology.${driver}/node`;
}

/** Returns the id of what has that name: a second creation finds the first. */
export function idOf(kind: 'vol' | 'snap' | 'group', name: string): string {
  return `${kind}-${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
}

/** Returns the path of the data in the directory of a volume or snapshot. */
export function dataPath(directory: string, backing: 'directory' | 'image'): string {
  return join(directory, backing === 'directory' ? 'data' : 'disk.img');
}
