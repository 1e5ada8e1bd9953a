// The options of the topology manager.

import type { NumaNode } from '../machine-topology.ts';
import { MAX_NUMA_ID } from './numa-mask.ts';
import type { NumaInfo } from './merge-hints.ts';

export class TopologyOptionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TopologyOptionError';
  }
}

const CLOSEST = 'prefer-closest-numa-nodes';
const MAX_NODES = 'max-allowable-numa-nodes';
const DEFAULT_MAX_NODES = 8;
const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

export interface TopologyOptions {
  readonly preferClosest: boolean;
  readonly maxNodes: number;
}

/** Throws a TopologyOptionError with upstream's words. */
export function parseTopologyOptions(given: Readonly<Record<string, string>>): TopologyOptions {
  let preferClosest = false;
  let maxNodes = DEFAULT_MAX_NODES;
  for (const [name, value] of Object.entries(given)) {
    if (name === CLOSEST) {
      if (!TRUE.includes(value) && !FALSE.includes(value)) {
        throw new TopologyOptionError(
          `bad value for option "${name}": strconv.ParseBool: parsing "${value}": invalid syntax`,
        );
      }
      preferClosest = TRUE.includes(value);
    } else if (name === MAX_NODES) {
      if (!/^[+-]?\d{1,15}$/.test(value)) {
        throw new TopologyOptionError(
          `unable to convert policy option to integer "${name}": strconv.Atoi: parsing "${value}": ` +
            'invalid syntax',
        );
      }
      maxNodes = Number(value);
      if (maxNodes < DEFAULT_MAX_NODES) {
        throw new TopologyOptionError(
          `the minimum value of "${name}" should not be less than ${DEFAULT_MAX_NODES}`,
        );
      }
    } else {
      throw new TopologyOptionError(`unknown Topology Manager Policy option: "${name}"`);
    }
  }
  return { preferClosest, maxNodes };
}

/** Returns the NUMA nodes for merges of hints. Throws a TopologyOptionError for too many of them. */
export function numaInfoOf(
  nodes: readonly NumaNode[],
  { preferClosest, maxNodes }: TopologyOptions,
): NumaInfo {
  const ids = nodes.map(({ id }) => id);
  if (ids.length > maxNodes || ids.some((id) => id > MAX_NUMA_ID))
    throw new TopologyOptionError(`unsupported on machines with more than ${maxNodes} NUMA Nodes`);
  if (!preferClosest) return { nodes: ids };
  if (nodes.some(({ distances }) => distances.length === 0))
    throw new TopologyOptionError(
      'cannot discover NUMA topology: error getting NUMA distances from cadvisor',
    );
  return { nodes: ids, distances: new Map(nodes.map(({ id, distances }) => [id, distances])) };
}
