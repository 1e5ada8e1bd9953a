// The static memory policy: containers of Guaranteed pods get memory and huge pages on as few NUMA
// nodes as possible. A node is used alone or in one group, never in both ways. The decisions are
// upstream's.

import type { Hint, Hints } from '../hints/hint.ts';
import { countOf, isNarrower, maskOf, nodesOf, subsetsOf } from '../hints/numa-mask.ts';
import {
  containersOf,
  hasPodLevelResources,
  isEndingInit,
  memoryRequests,
  podMemoryRequests,
} from '../requests.ts';
import { qosClass } from '../../pod/resources.ts';
import { isSidecar } from '../../pod/restart-policy.ts';
import { podUid, type Container, type Pod } from '../../types.ts';
import {
  isSameGroup,
  type MachineState,
  type MemoryBlock,
  release,
  reserve,
} from './machine-state.ts';

type Requests = ReadonlyMap<string, number>;

/** By pod UID and container name. */
export type MemoryAssignments = Map<string, Map<string, MemoryBlock[]>>;

export class StaticMemoryPolicy {
  readonly #state: MachineState;
  readonly #assignments: MemoryAssignments;
  /** The pod whose containers get memory now: by mask and resource, what its init containers leave. */
  #reusable: { readonly uid: string; readonly sizes: Map<string, number> } = {
    uid: '',
    sizes: new Map(),
  };

  constructor(state: MachineState, assignments: MemoryAssignments) {
    this.#state = state;
    this.#assignments = assignments;
  }

  hints(pod: Pod, container: Container): Hints {
    if (!isManaged(pod)) return undefined;
    const requests = memoryRequests(container);
    const present = this.blocks(podUid(pod), container.name);
    return present === undefined ? this.#hints(pod, requests) : hintsOfBlocks(present, requests);
  }

  podHints(pod: Pod): Hints {
    if (!isManaged(pod)) return undefined;
    const requests = podMemoryRequests(pod);
    if (requests.size === 0) return undefined;
    for (const { name } of containersOf(pod)) {
      const present = this.blocks(podUid(pod), name);
      if (present !== undefined) return hintsOfBlocks(present, requests);
    }
    return this.#hints(pod, requests);
  }

  /** Returns the container's memory; undefined if it has none on certain nodes. */
  blocks(uid: string, container: string): readonly MemoryBlock[] | undefined {
    return this.#assignments.get(uid)?.get(container);
  }

  /**
   * Assigns memory on the nodes of the hint, or on the best ones, to the container of a Guaranteed
   * pod. Reports whether it has some. Throws the reason if it is not available.
   */
  allocate(pod: Pod, container: Container, hint: Hint): boolean {
    if (!isManaged(pod)) return false;
    const uid = podUid(pod);
    const present = this.blocks(uid, container.name);
    if (present !== undefined) {
      this.#updateReusable(pod, container, present);
      return true;
    }
    const requests = memoryRequests(container);
    const mask = this.#chooseNodes(pod, requests, hint);
    const nodes = nodesOf(mask);
    const blocks: MemoryBlock[] = [];
    for (const [resource, size] of requests) {
      blocks.push({ nodes, resource, size });
      const missing = Math.max(0, size - this.#reusableSize(uid, mask, resource));
      reserve(this.#state, nodes, resource, missing);
    }
    this.#updateReusable(pod, container, blocks);
    const ofPod = this.#assignments.get(uid) ?? new Map<string, MemoryBlock[]>();
    this.#assignments.set(uid, ofPod);
    // The size of a block shrinks when a later container takes it over.
    ofPod.set(
      container.name,
      blocks.map((block) => ({ ...block })),
    );
    this.#takeOver(pod, container, blocks);
    return true;
  }

  release(uid: string, container: string): void {
    const pod = this.#assignments.get(uid);
    const blocks = pod?.get(container);
    if (pod === undefined || blocks === undefined) return;
    pod.delete(container);
    if (pod.size === 0) this.#assignments.delete(uid);
    for (const block of blocks) release(this.#state, block);
  }

  #chooseNodes(pod: Pod, requests: Requests, wanted: Hint): number {
    let hint = wanted;
    if (hint.mask === undefined) {
      hint = this.#defaultHint(pod, requests);
      if (!hint.preferred && wanted.preferred)
        throw new Error('[memorymanager] failed to find the default preferred hint');
    }
    if (!this.#hasFree(hint.mask ?? 0, requests)) {
      const extended = this.#extendedHint(pod, requests, hint.mask ?? 0);
      if (!extended.preferred && hint.preferred)
        throw new Error('[memorymanager] failed to find the extended preferred hint');
      hint = extended;
    }
    const mask = hint.mask ?? 0;
    if (this.#violatesGroups(mask))
      throw new Error('[memorymanager] preferred hint violates NUMA node allocation');
    return mask;
  }

  #defaultHint(pod: Pod, requests: Requests): Hint {
    const hints = this.#hints(pod, requests);
    if (hints === undefined || hints.size === 0) {
      throw new Error(
        '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
      );
    }
    return bestOf(hints.get('memory') ?? []);
  }

  #extendedHint(pod: Pod, requests: Requests, mask: number): Hint {
    const hints = this.#hints(pod, requests)?.get('memory') ?? [];
    const wider = hints.filter((hint) => ((hint.mask ?? 0) & mask) === mask);
    if (wider.length === 0)
      throw new Error(
        '[memorymanager] failed to find NUMA nodes to extend the current topology hint',
      );
    return bestOf(wider);
  }

  #hasFree(mask: number, requests: Requests): boolean {
    return [...requests].every(([resource, size]) => this.#sum(mask, resource, 'free') >= size);
  }

  #sum(mask: number, resource: string, field: 'free' | 'allocatable'): number {
    return nodesOf(mask).reduce(
      (sum, node) => sum + (this.#state.get(node)?.memoryMap.get(resource)?.[field] ?? 0),
      0,
    );
  }

  #violatesGroups(mask: number): boolean {
    const nodes = nodesOf(mask);
    if (nodes.length === 1) return false;
    return nodes.some((id) => {
      const node = this.#state.get(id);
      if (node === undefined || node.numberOfAssignments === 0) return false;
      return node.cells.length === 1 || !isSameGroup(node.cells, nodes);
    });
  }

  #hints(pod: Pod, requests: Requests): Hints {
    const nodes = [...this.#state.keys()].toSorted((a, b) => a - b);
    let fewest = nodes.length;
    const masks: number[] = [];
    for (const mask of subsetsOf(nodes)) {
      const isEnough = [...requests].every(
        ([resource, size]) => this.#sum(mask, resource, 'allocatable') >= size,
      );
      if (!isEnough) continue;
      fewest = Math.min(fewest, countOf(mask));
      const [first] = nodesOf(mask);
      const isAlone = countOf(mask) === 1;
      if (isAlone && (this.#state.get(first!)?.cells.length ?? 0) > 1) continue;
      if (!isAlone && this.#violatesGroups(mask)) continue;
      const isFree = [...requests].every(
        ([resource, size]) =>
          this.#sum(mask, resource, 'free') + this.#reusableSize(podUid(pod), mask, resource) >=
          size,
      );
      if (isFree) masks.push(mask);
    }
    if (masks.length === 0) return new Map();
    const hints = masks.map((mask) => ({ mask, preferred: countOf(mask) === fewest }));
    return new Map([...requests.keys()].map((resource) => [resource, hints]));
  }

  #reusableSize(uid: string, mask: number, resource: string): number {
    return this.#reusable.uid === uid ? (this.#reusable.sizes.get(`${mask} ${resource}`) ?? 0) : 0;
  }

  #updateReusable(pod: Pod, container: Container, blocks: readonly MemoryBlock[]): void {
    const uid = podUid(pod);
    if (this.#reusable.uid !== uid) this.#reusable = { uid, sizes: new Map() };
    const isInit = isEndingInit(pod, container);
    for (const { nodes, resource, size } of blocks) {
      const mask = maskOf(nodes);
      const before = this.#reusableSize(uid, mask, resource);
      const after = isInit ? Math.max(before, size) : Math.max(0, before - size);
      this.#reusable.sizes.set(`${mask} ${resource}`, after);
    }
  }

  /** Shrinks the blocks of init containers whose memory the container now has. */
  #takeOver(pod: Pod, container: Container, blocks: readonly MemoryBlock[]): void {
    const init = pod.spec.initContainers ?? [];
    const index = init.findIndex(({ name }) => name === container.name);
    const before = (index < 0 ? init : init.slice(0, index)).filter((one) => !isSidecar(one));
    for (const { nodes, resource, size } of blocks) {
      let rest = size;
      for (const { name } of before) {
        for (const block of this.#assignments.get(podUid(pod))?.get(name) ?? []) {
          if (block.resource !== resource || !isSameGroup(block.nodes, nodes)) continue;
          const taken = Math.min(rest, block.size);
          block.size -= taken;
          rest -= taken;
        }
      }
    }
  }
}

/** Reports whether the policy assigns memory to containers of the pod. */
function isManaged(pod: Pod): boolean {
  return qosClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod);
}

/** Returns the hints for memory that is assigned already; none if it is not what is requested. */
function hintsOfBlocks(blocks: readonly MemoryBlock[], requests: Requests): Hints {
  if (blocks.length !== requests.size) return undefined;
  if (blocks.some(({ resource, size }) => requests.get(resource) !== size)) return undefined;
  return new Map(
    blocks.map(({ resource, nodes }) => [resource, [{ mask: maskOf(nodes), preferred: true }]]),
  );
}

/** Returns the narrowest preferred hint, or else the narrowest one. */
function bestOf(hints: readonly Hint[]): Hint {
  let best: Hint = { preferred: false };
  for (const hint of hints) {
    const isBetter =
      best.mask === undefined ||
      (hint.preferred && !best.preferred) ||
      (hint.preferred === best.preferred && isNarrower(hint.mask ?? 0, best.mask));
    if (isBetter) best = hint;
  }
  return best;
}
