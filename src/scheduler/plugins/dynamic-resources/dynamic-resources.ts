// DynamicResources: a pod runs where devices for its claims are available, or where the devices of
// its allocated claims are.

import { pods } from '#api/groups/core/v1/index.ts';
import { deviceClasses, resourceClaims } from '#api/groups/resource/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type CycleState, type StateKey, stateKey } from '#scheduler/framework/cycle-state.ts';
import type { ClusterEventWithHint } from '#scheduler/framework/events.ts';
import type { Handle, PluginRegistration } from '#scheduler/framework/handle.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Node, Pod } from '#scheduler/framework/objects.ts';
import type {
  Answer,
  FilterPlugin,
  PostFilterPlugin,
  PostFilterResult,
  PreBindPlugin,
  PreEnqueuePlugin,
  PreFilterPlugin,
  PreScorePlugin,
  ReservePlugin,
  ScorePlugin,
} from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { Unfinished } from '#scheduler/framework/unfinished.ts';
import { ExtendedResources } from '../extended-resources.ts';
import { compileNodeSelector, type NodeMatcher } from '../node-selector.ts';
import { normalizeByGreatest } from '../normalize.ts';
import { AllocationError, AllocationTimeout, Allocator, type Pick } from './allocator.ts';
import { readDynamicResourcesArgs, type DynamicResourcesArgs } from './args.ts';
import { type BindingOutcome, DeviceMetrics } from './metrics.ts';
import { bindClaim, ClaimBindingError, deleteClaim, untilReady } from './binding.ts';
import { Claims } from './claims.ts';
import { hasBindingConditions, isOverdue, readiness } from './conditions.ts';
import { extendedClaim, type ExtendedClaim, isExtendedClaimOf } from './extended-claim.ts';
import { claimEvents } from './hints.ts';
import {
  type Allocation,
  canBeReserved,
  claimsOfPod,
  claimText,
  isReservedFor,
  type ResourceClaim,
} from './objects.ts';
import { Pools } from './pools.ts';
import { allocationOf } from './result.ts';

const NAME = 'DynamicResources';
const SKIP = new Status('Skip', [], NAME);
const refused = (why: string): Status => new Status('UnschedulableAndUnresolvable', [why], NAME);
const CANNOT_ALLOCATE = refused('cannot allocate all claims');
const NOT_HERE = refused('resourceclaim not available on the node');
const TIMED_OUT = refused('timed out trying to allocate devices');
const unhelpful = (why: string): PostFilterResult => ({
  status: new Status('Unschedulable', [why], NAME),
});

const STALE = refused('cannot schedule extended resource claim');
const NO_CLASSES: ReadonlyMap<string, string> = new Map();

/** The limits of a search in one turn of the event loop. */
const SLICE_MS = 5;
const STEPS_PER_SLICE = 2000;

/** The score of the first alternative; each later one scores one less. */
const MAX_ALTERNATIVES = 8;

/** A pod's claims in one cycle. */
interface PodClaims {
  readonly claims: readonly ResourceClaim[];
  /**
   * Nodes that can use the devices of allocated claims; undefined: all nodes. Parallel to `claims`.
   */
  readonly usable: readonly (NodeMatcher | undefined)[];
  /** The claims without an allocation. */
  readonly open: readonly ResourceClaim[];
  readonly allocator: Allocator;
  /** The searches that have not ended, by node. */
  readonly searches: Map<string, NodeSearch>;
  /** The refusals of nodes without devices for the claims. */
  readonly without: Map<string, Status>;
  /** Extended resources that devices can provide → their class. */
  readonly extended: ReadonlyMap<string, string>;
  /** The claim for extended resources of an earlier attempt. */
  readonly stale: ResourceClaim | undefined;
  /** Allocations by node. */
  readonly found: Map<string, Found>;
  /** The claims whose devices some node cannot use. */
  readonly elsewhere: Set<ResourceClaim>;
}

interface NodeSearch {
  readonly node: string;
  readonly wanted: readonly ResourceClaim[];
  readonly extended: ExtendedClaim | undefined;
  readonly steps: ReturnType<Allocator['allocate']>;
  /** In monotonic milliseconds. */
  readonly deadline: number;
}

/** The allocations on a node. */
interface Found {
  /** The allocations of the open claims, in their order. */
  readonly allocations: readonly Allocation[];
  /** The claim for extended resources. */
  readonly extended?: ExtendedClaim & { readonly allocation: Allocation };
}

const CLAIMS: StateKey<PodClaims> = stateKey(`${NAME}/claims`);
/** The allocations of the pod's claims on the chosen node, until they are written. */
const PENDING_ALLOCATIONS: StateKey<ReadonlyMap<ResourceClaim, Allocation>> = stateKey(
  `${NAME}/pending-allocations`,
);
/** The claim that was created for extended resources in this cycle. */
const MADE: StateKey<ResourceClaim> = stateKey(`${NAME}/made`);

type Plugins = PreEnqueuePlugin &
  PreFilterPlugin &
  FilterPlugin &
  PostFilterPlugin &
  PreScorePlugin &
  ScorePlugin &
  ReservePlugin &
  PreBindPlugin;

class DynamicResources implements Plugins {
  readonly name = NAME;
  readonly #args: DynamicResourcesArgs;
  readonly #handle: Handle;
  readonly #claims: Claims;
  readonly #pools: Pools;
  readonly #classes;
  readonly #extended: ExtendedResources;
  readonly #metrics: DeviceMetrics;

  constructor(args: DynamicResourcesArgs, handle: Handle) {
    this.#args = args;
    this.#handle = handle;
    this.#claims = new Claims(handle);
    this.#pools = new Pools(handle);
    this.#classes = handle.informers.informerFor(deviceClasses).lister;
    this.#extended = new ExtendedResources(handle);
    this.#metrics = new DeviceMetrics(handle.metrics?.instruments);
  }

  eventsToRegister(): readonly ClusterEventWithHint[] {
    return claimEvents((key) => this.#claims.get(key));
  }

  preEnqueue({ pod }: PodInfo): Answer {
    if (pod.spec.resourceClaims === undefined) return undefined;
    const claims = claimsOfPod(pod, (key) => this.#claims.get(key));
    return typeof claims === 'string' ? refused(claims) : undefined;
  }

  preFilter(state: CycleState, { pod, requests }: PodInfo): Status | undefined {
    const extended =
      requests.scalars === undefined ? NO_CLASSES : this.#extendedOf(requests.scalars);
    if (pod.spec.resourceClaims === undefined && extended.size === 0) return SKIP;
    const claims = claimsOfPod(pod, (key) => this.#claims.get(key));
    if (typeof claims === 'string') return refused(claims);
    if (claims.length === 0 && extended.size === 0) return SKIP;
    const open: ResourceClaim[] = [];
    for (const claim of claims) {
      if (claim.status.allocation !== undefined) {
        // Other pods use the claim, and it allows no further user.
        if (!isReservedFor(claim, pod) && !canBeReserved(claim))
          return refused('resourceclaim in use');
        continue;
      }
      if (this.#claims.isPending(claim)) {
        return refused(`resource claim ${claimText(claim)} is in the process of being allocated`);
      }
      const why = this.#missingClass(claim);
      if (why !== undefined) return refused(why);
      open.push(claim);
    }
    state.write(CLAIMS, {
      claims,
      usable: claims.map(({ status }) => {
        const selector = status.allocation?.nodeSelector;
        return selector === undefined ? undefined : compileNodeSelector(selector);
      }),
      open,
      extended,
      stale:
        extended.size === 0
          ? undefined
          : this.#claims
              .list(pod.metadata.namespace ?? '')
              .find((claim) => isExtendedClaimOf(claim, pod)),
      allocator: new Allocator({
        inUse: this.#claims.inUse,
        classOf: (name) => this.#classes.get('', name),
      }),
      searches: new Map(),
      without: new Map(),
      found: new Map(),
      elsewhere: new Set<ResourceClaim>(),
    });
    return undefined;
  }

  filter(state: CycleState, { pod: object }: PodInfo, { node, allocatable }: NodeInfo): Answer {
    const pod = state.read(CLAIMS);
    if (pod === undefined || node === undefined) return undefined;
    if (pod.stale !== undefined) return STALE;
    const elsewhere = pod.claims.filter(
      (claim, i) => pod.usable[i]?.(node) === false || this.#hasFailed(claim),
    );
    if (elsewhere.length > 0) {
      for (const claim of elsewhere) pod.elsewhere.add(claim);
      return NOT_HERE;
    }
    // NodeResourcesFit checks resources that the node itself has.
    const byDevices = new Map(
      [...pod.extended].filter(([resource]) => allocatable.scalar(resource) === 0),
    );
    if (pod.open.length === 0 && byDevices.size === 0) return undefined;
    // The answer for a node stays the same in one cycle.
    const { name } = node.metadata;
    if (pod.found.has(name)) return undefined;
    const refusal = pod.without.get(name);
    if (refusal !== undefined) return refusal;
    const search = pod.searches.get(name) ?? this.#beginSearch(pod, object, byDevices, node);
    pod.searches.set(name, search);
    const found = this.#continueSearch(search);
    pod.searches.delete(name);
    if (found instanceof Status) {
      pod.without.set(name, found);
      return found;
    }
    pod.found.set(name, found);
    return undefined;
  }

  filterTemplate({ pod }: PodInfo): string | undefined {
    return pod.spec.resourceClaims === undefined ? '' : undefined;
  }

  /**
   * Deallocates devices that are not available where the pod could run, if no other pod uses them.
   */
  async postFilter(state: CycleState, { pod }: PodInfo): Promise<PostFilterResult> {
    const claims = state.read(CLAIMS);
    if (claims === undefined) return unhelpful('no new claims to deallocate');
    if (claims.stale !== undefined) {
      try {
        await deleteClaim(this.#handle, claims.stale, this.#handle.ended);
      } catch (error) {
        return { status: Status.error(error, NAME) };
      }
      return unhelpful('deletion of ResourceClaim completed');
    }
    for (const claim of claims.elsewhere) {
      const { allocation: _devices, reservedFor = [], devices: _told, ...status } = claim.status;
      if (reservedFor.some(({ uid }) => uid !== pod.metadata.uid)) continue;
      try {
        const resource = this.#handle.client
          .resource(resourceClaims)
          .namespace(claim.metadata.namespace ?? '');
        this.#claims.written(
          await resource.updateStatus({ ...claim, status }, { signal: this.#handle.ended }),
        );
      } catch (error) {
        return { status: Status.error(error, NAME) };
      }
      return unhelpful('deallocation of ResourceClaim completed');
    }
    return unhelpful('still not schedulable');
  }

  preScore(state: CycleState): Answer {
    const open = state.read(CLAIMS)?.open ?? [];
    return open.some(({ spec }) =>
      (spec.devices.requests ?? []).some(({ firstAvailable }) => firstAvailable !== undefined),
    )
      ? undefined
      : SKIP;
  }

  /** Scores nodes higher where earlier alternatives are available. */
  score(state: CycleState, _pod: PodInfo, node: NodeInfo): number {
    const pod = state.read(CLAIMS);
    let score = 0;
    pod?.found.get(node.name)?.allocations.forEach(({ devices }, i) => {
      const taken = new Set((devices.results ?? []).map(({ request }) => request));
      for (const { name, firstAvailable = [] } of pod.open[i]?.spec.devices.requests ?? []) {
        firstAvailable.forEach((alternative, j) => {
          if (taken.has(`${name}/${alternative.name}`)) score += MAX_ALTERNATIVES - j;
        });
      }
    });
    return score;
  }

  normalizeScore(_state: CycleState, _pod: PodInfo, scores: number[]): Answer {
    normalizeByGreatest(scores, false);
    return undefined;
  }

  reserve(state: CycleState, _pod: PodInfo, node: string): Answer {
    const pod = state.read(CLAIMS);
    const found = pod?.found.get(node);
    if (pod === undefined || found === undefined) return undefined;
    const pendingAllocations = new Map(pod.open.map((claim, i) => [claim, found.allocations[i]!]));
    if (found.extended !== undefined)
      pendingAllocations.set(found.extended.claim, found.extended.allocation);
    for (const [claim, allocation] of pendingAllocations)
      this.#claims.setPending(claim, allocation);
    state.write(PENDING_ALLOCATIONS, pendingAllocations);
    return undefined;
  }

  unreserve(state: CycleState, { pod }: PodInfo): void {
    for (const claim of state.read(PENDING_ALLOCATIONS)?.keys() ?? [])
      this.#claims.clearPending(claim);
    state.delete(PENDING_ALLOCATIONS);
    const made = state.read(MADE);
    if (made !== undefined) void this.#unmake(made);
    state.delete(MADE);
    for (const { metadata } of state.read(CLAIMS)?.claims ?? []) {
      const now = this.#claims.get(`${metadata.namespace ?? ''}/${metadata.name}`);
      if (now !== undefined && now.status.allocation !== undefined && isReservedFor(now, pod))
        void this.#giveUp(now, pod.metadata.uid);
    }
  }

  preBindPreFlight(state: CycleState): Answer {
    return state.read(CLAIMS) === undefined ? SKIP : undefined;
  }

  async preBind(
    state: CycleState,
    { pod }: PodInfo,
    node: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { claims } = state.read(CLAIMS) ?? { claims: [] };
    const pendingAllocations = state.read(PENDING_ALLOCATIONS);
    const bound: ResourceClaim[] = [];
    try {
      for (const claim of claims) {
        const written = isReservedFor(claim, pod)
          ? claim
          : await bindClaim(this.#handle, claim, pendingAllocations?.get(claim), pod, signal);
        if (written !== claim) this.#claims.written(written);
        bound.push(written);
      }
      const extended = state.read(CLAIMS)?.found.get(node)?.extended;
      if (extended !== undefined)
        bound.push(await this.#makeExtended(state, pod, extended, signal));
      await this.#untilReady(bound, pod, node, signal);
      return undefined;
    } catch (error) {
      return Status.error(error, NAME);
    }
  }

  /** Waits until the devices of the pod's claims are ready. */
  async #untilReady(
    claims: readonly ResourceClaim[],
    pod: Pod,
    node: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (!claims.some(hasBindingConditions)) return;
    const { clock } = this.#handle;
    const profile = pod.spec.schedulerName ?? '';
    const message = `waiting for binding conditions for device on node ${node}`;
    this.#handle
      .recorderOf(profile)
      ?.event(pod, 'Normal', 'BindingConditionsPending', message, { action: 'Scheduling' });
    const begun = clock.monotonic();
    let outcome: BindingOutcome = 'error';
    try {
      await untilReady(this.#handle, this.#claims, claims, this.#args.bindingTimeoutMs, signal);
      outcome = 'success';
    } catch (error) {
      if (error instanceof ClaimBindingError) outcome = error.outcome;
      throw error;
    } finally {
      this.#metrics.waited(profile, claims, outcome, (clock.monotonic() - begun) / 1000);
    }
  }

  #missingClass({ spec }: ResourceClaim): string | undefined {
    for (const { name, exactly, firstAvailable } of spec.devices.requests ?? []) {
      const asked =
        exactly !== undefined
          ? [[name, exactly.deviceClassName] as const]
          : (firstAvailable ?? []).map(
              (one) => [`${name}/${one.name}`, one.deviceClassName] as const,
            );
      if (asked.length === 0) return `request ${name}: unknown request type`;
      for (const [request, className] of asked) {
        if (this.#classes.get('', className) === undefined)
          return `request ${request}: device class ${className} does not exist`;
      }
    }
    return undefined;
  }

  /** Reports whether the devices were not ready in time, or have failed. */
  #hasFailed(claim: ResourceClaim): boolean {
    if (claim.status.allocation === undefined) return false;
    const ready = readiness(claim);
    if (typeof ready === 'string') return true;
    return !ready && isOverdue(claim, this.#handle.clock.now(), this.#args.bindingTimeoutMs);
  }

  /** Returns the resources that a device class provides. */
  #extendedOf(resources: ReadonlyMap<string, number>): ReadonlyMap<string, string> {
    let classes: Map<string, string> | undefined;
    for (const [resource, amount] of resources) {
      const provider = amount === 0 ? undefined : this.#extended.classFor(resource);
      if (provider === undefined) continue;
      classes ??= new Map();
      classes.set(resource, provider.metadata.name);
    }
    return classes ?? NO_CLASSES;
  }

  #beginSearch(
    { open, allocator }: PodClaims,
    pod: Pod,
    byDevices: ReadonlyMap<string, string>,
    node: Node,
  ): NodeSearch {
    const { clock, random } = this.#handle;
    const { filterTimeoutMs } = this.#args;
    const extended =
      byDevices.size === 0 ? undefined : extendedClaim(pod, byDevices, random.uuid());
    const wanted = extended === undefined ? open : [...open, extended.claim];
    return {
      node: node.metadata.name,
      wanted,
      extended,
      steps: allocator.allocate(this.#pools.of(node), wanted),
      deadline: filterTimeoutMs === 0 ? Infinity : clock.monotonic() + filterTimeoutMs,
    };
  }

  #searchForSlice(
    steps: NodeSearch['steps'],
    deadline: number,
  ): readonly (readonly Pick[])[] | undefined {
    const { clock } = this.#handle;
    const sliceEnd = clock.monotonic() + SLICE_MS;
    for (let count = 0; count < STEPS_PER_SLICE; count++) {
      const { done, value } = steps.next();
      if (done === true) return value;
      const now = clock.monotonic();
      if (now > deadline) throw new AllocationTimeout();
      if (now >= sliceEnd) break;
    }
    throw new Unfinished();
  }

  /** Throws Unfinished at the end of a slice. */
  #continueSearch({ node, wanted, extended, steps, deadline }: NodeSearch): Found | Status {
    const { random } = this.#handle;
    try {
      const picks = this.#searchForSlice(steps, deadline);
      if (picks === undefined) return CANNOT_ALLOCATE;
      const all = wanted.map((claim, i) =>
        allocationOf(claim, picks[i] ?? [], node, () => random.uuid()),
      );
      if (extended === undefined) return { allocations: all };
      return {
        allocations: all.slice(0, -1),
        extended: { ...extended, allocation: all.at(-1)! },
      };
    } catch (error) {
      if (error instanceof AllocationTimeout) return TIMED_OUT;
      if (!(error instanceof AllocationError)) throw error;
      return error.onNode ? refused(error.message) : Status.error(error, NAME);
    }
  }
  /**
   * Creates the claim for extended resources with its devices, and records it in the pod's status.
   */
  async #makeExtended(
    state: CycleState,
    pod: Pod,
    { claim, allocation, mappings }: NonNullable<Found['extended']>,
    signal: AbortSignal,
  ): Promise<ResourceClaim> {
    const { client } = this.#handle;
    const { namespace = '', generateName, annotations, ownerReferences } = claim.metadata;
    const resource = client.resource(resourceClaims).namespace(namespace);
    const metadata = { generateName, annotations, ownerReferences };
    let made: ResourceClaim;
    try {
      made = await resource.create({ metadata, spec: claim.spec }, { signal });
    } catch (error) {
      this.#metrics.claimMade('failure');
      throw error;
    }
    this.#metrics.claimMade('success');
    state.write(MADE, made);
    this.#claims.setPending(made, allocation);
    this.#claims.clearPending(claim);
    const bound = await bindClaim(this.#handle, made, allocation, pod, signal);
    this.#claims.written(bound);
    const status = {
      extendedResourceClaimStatus: {
        requestMappings: mappings,
        resourceClaimName: bound.metadata.name,
      },
    };
    await client
      .resource(pods)
      .namespace(namespace)
      .patch(
        pod.metadata.name,
        'application/merge-patch+json',
        { metadata: { uid: pod.metadata.uid }, status },
        { subresource: 'status', signal },
      );
    return bound;
  }

  /** Deletes the claim, since the pod will not use its devices. Never rejects. */
  async #unmake(made: ResourceClaim): Promise<void> {
    const { ended, logger } = this.#handle;
    try {
      await deleteClaim(this.#handle, made, ended);
    } catch (error) {
      // The claim is found when the pod is retried, and is deleted with the pod in any case.
      if (!ended.aborted)
        logger.warn('a claim for extended resources could not be deleted', {
          claim: claimText(made),
          err: error,
        });
    }
    this.#claims.clearPending(made);
  }

  /** Removes the pod's reservation from a claim that it will not use. Never rejects. */
  async #giveUp({ metadata }: ResourceClaim, uid: string): Promise<void> {
    const { client, ended: signal, logger } = this.#handle;
    const patch = {
      metadata: { uid: metadata.uid },
      status: { reservedFor: [{ $patch: 'delete', uid }] },
    };
    try {
      const resource = client.resource(resourceClaims).namespace(metadata.namespace ?? '');
      const options = { subresource: 'status', signal };
      this.#claims.written(
        await resource.patch(
          metadata.name,
          'application/strategic-merge-patch+json',
          patch,
          options,
        ),
      );
    } catch (error) {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error) || signal.aborted) return;
      logger.warn('a claim stays reserved for a pod that was not bound', {
        claim: `${metadata.namespace}/${metadata.name}`,
        err: error,
      });
    }
  }
}

export const dynamicResources: PluginRegistration = {
  name: NAME,
  create: (args, handle) => new DynamicResources(readDynamicResourcesArgs(NAME, args), handle),
};
