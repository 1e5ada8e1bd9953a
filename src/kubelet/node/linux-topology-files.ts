// The files of this machine that describe its processors and NUMA nodes.

import { readdir, readFile } from 'node:fs/promises';
import type { TopologyFiles } from '../resource-managers/read-topology.ts';

/** Files of the kernel in /sys. Some of them cannot be read although they exist (EINVAL). */
export const linuxTopologyFiles: TopologyFiles = {
  read: (path) => readFile(path, 'utf8').catch(() => undefined),
  list: (path) => readdir(path).catch(() => []),
};
