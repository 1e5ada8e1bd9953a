// Allocates devices for claims on a node by backtracking: one device after the other is tried for
// each request, and released if the rest fails, until all requests of all claims have their
// devices. The first solution is used, and the first possible alternative.

import type { DeviceSubRequest, ExactDeviceRequest } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type { Steps } from '#machinery/turn.ts';
import { type Consumed, consumedBy, difference, isWithin, sum } from './capacity.ts';
import { type Constraint, constraintOf, type RequestName } from './constraints.ts';
import type { DevicesInUse } from './in-use.ts';
import { claimText, type Device, type DeviceClass, type ResourceClaim } from './objects.ts';
import type { NodePool, Pool, PooledDevice } from './pools.ts';
import { isKnown, SelectorError, selects } from './selectors.ts';
import { isTolerated } from './taints.ts';

/** The maximum number of devices per claim. */
const MAX_RESULTS = 32;
/** The number of devices that are tried in one step. */
const TRIED_PER_STEP = 16;
/**
 * The maximum number of tried devices: about the 10 s that kube-scheduler allows for a node. It ends
 * searches where no time passes, such as on a virtual clock.
 */
const MAX_TRIED = 20_000_000;

/** Allocation failed: a claim, a class or a pool is invalid. */
export class AllocationError extends Error {
  /** The failure concerns this node only; the scheduler tries the others. */
  readonly onNode: boolean;

  constructor(message: string, onNode = false) {
    super(message);
    this.name = 'AllocationError';
    this.onNode = onNode;
  }
}

/** The search for devices took too long. */
export class AllocationTimeout extends Error {}

/** A device for a request. */
export interface Pick {
  readonly ask: Ask;
  readonly pooled: PooledDevice;
  /** Set for a share of a device that several claims can use. */
  readonly share?: { readonly consumed: Consumed };
}

/** A request, or one of its alternatives. */
export interface Ask {
  readonly name: RequestName;
  readonly request: Immutable<ExactDeviceRequest | DeviceSubRequest>;
  readonly deviceClass: DeviceClass;
  readonly adminAccess: boolean;
  readonly count: number;
  /** Set if the request needs all of these devices. */
  readonly all: readonly PooledDevice[] | undefined;
  /** Whether devices suit the request, as far as this is known. */
  readonly suitable: Map<PooledDevice, boolean>;
}

export interface AllocatorConfig {
  readonly inUse: DevicesInUse;
  readonly classOf: (name: string) => DeviceClass | undefined;
  /** Default: MAX_TRIED. */
  readonly maxTried?: number;
}

/** Allocates for one pod. A device that comes into use during a search may still be picked. */
export class Allocator {
  readonly config: AllocatorConfig;
  readonly #counters = new Map<Pool, Counters>();

  constructor(config: AllocatorConfig) {
    this.config = config;
  }

  /**
   * Returns the devices of each claim, in the order of its requests; undefined if there is no
   * solution. The search is exponential in the worst case: the caller decides how many steps run in
   * one turn, and when to give up. Throws AllocationError and AllocationTimeout.
   */
  *allocate(
    pools: readonly NodePool[],
    claims: readonly ResourceClaim[],
  ): Steps<readonly (readonly Pick[])[] | undefined> {
    const picks = yield* new Search(this, pools, claims).run();
    if (picks === undefined && pools.some(({ pool }) => pool.invalid)) {
      throw new AllocationError('invalid resource pools were encountered', true);
    }
    return picks;
  }

  /** Returns the counters of a pool minus the consumption of devices in use. */
  countersOf(pool: Pool): Counters {
    let counters = this.#counters.get(pool);
    if (counters === undefined) {
      counters = remainingCounters(pool, this.config.inUse);
      this.#counters.set(pool, counters);
    }
    return counters;
  }
}

/** By counter set and counter, joined to one text. */
type Counters = ReadonlyMap<string, Quantity>;

function remainingCounters(pool: Pool, inUse: DevicesInUse): Counters {
  const left = new Map<string, Quantity>();
  for (const set of pool.counters.values()) {
    for (const [name, { value }] of Object.entries(set.counters ?? {}))
      left.set(`${set.name}/${name}`, parseQuantity(value));
  }
  for (const { key, device } of pool.devices) {
    if (!inUse.isTaken(key) && inUse.sharesOf(key) === undefined) continue;
    for (const [name, amount] of countersOf(device)) {
      const present = left.get(name);
      if (present !== undefined) left.set(name, present.sub(amount));
    }
  }
  return left;
}

function* countersOf({ consumesCounters }: Device): Iterable<readonly [string, Quantity]> {
  for (const { counterSet, counters } of consumesCounters ?? []) {
    for (const [name, { value }] of Object.entries(counters ?? {}))
      yield [`${counterSet}/${name}`, parseQuantity(value)];
  }
}

/**
 * `tooMany`: a claim cannot have this many devices; other devices for earlier requests do not help,
 * only fewer.
 */
type Outcome = 'done' | 'none' | 'tooMany';

class Search {
  readonly #allocator: Allocator;
  readonly #pools: readonly NodePool[];
  readonly #claims: readonly ResourceClaim[];
  /** By claim and request: the alternatives. */
  #asks: readonly (readonly (readonly Ask[])[])[] = [];
  readonly #constraints: readonly (readonly Constraint[])[];
  readonly #candidates: readonly PooledDevice[];
  readonly #picks: Pick[][];
  /**
   * Devices that are used as a whole: by key, the claims (more than one only with admin access).
   */
  readonly #taken = new Map<string, number[]>();
  readonly #shared = new Map<string, { count: number; consumed: Consumed }>();
  /** The remaining counters of pools with picked devices. */
  readonly #counters = new Map<Pool, Map<string, Quantity>>();
  #tried = 0;

  constructor(allocator: Allocator, pools: readonly NodePool[], claims: readonly ResourceClaim[]) {
    this.#allocator = allocator;
    this.#pools = pools;
    this.#claims = claims;
    this.#candidates = pools.flatMap(({ pool, devices }) =>
      pool.incomplete || pool.invalid ? [] : devices,
    );
    this.#constraints = claims.map(constraintsOf);
    this.#picks = claims.map(() => []);
  }

  *run(): Steps<readonly (readonly Pick[])[] | undefined> {
    const asks: (readonly (readonly Ask[])[])[] = [];
    for (const claim of this.#claims) asks.push(yield* this.#asksOf(claim));
    this.#asks = asks;
    this.#checkNumbers();
    return (yield* this.#request(0, 0)) === 'done' ? this.#picks : undefined;
  }

  /** Throws AllocationError if a claim needs more devices than claims may have. */
  #checkNumbers(): void {
    for (const [i, asks] of this.#asks.entries()) {
      const least = asks.reduce(
        (sum_, alternatives) => sum_ + Math.min(...alternatives.map(({ count }) => count)),
        0,
      );
      if (least <= MAX_RESULTS) continue;
      const claim = claimText(this.#claims[i]!);
      throw new AllocationError(
        `claim ${claim}: number of requested devices ${least} exceeds the claim limit of ${MAX_RESULTS}`,
      );
    }
  }

  *#asksOf(claim: ResourceClaim): Steps<readonly (readonly Ask[])[]> {
    const requests: (readonly Ask[])[] = [];
    for (const { name, exactly, firstAvailable = [] } of claim.spec.devices.requests ?? []) {
      const alternatives: Ask[] = [];
      if (exactly !== undefined) {
        const adminAccess = exactly.adminAccess === true;
        alternatives.push(yield* this.#ask(claim, { request: name }, exactly, adminAccess));
      } else {
        for (const alternative of firstAvailable) {
          const request = { request: name, alternative: alternative.name };
          alternatives.push(yield* this.#ask(claim, request, alternative, false));
        }
      }
      requests.push(alternatives);
    }
    return requests;
  }

  *#ask(
    claim: ResourceClaim,
    name: RequestName,
    request: Ask['request'],
    adminAccess: boolean,
  ): Steps<Ask> {
    const { deviceClassName, allocationMode, count = 1 } = request;
    const where = `claim ${claimText(claim)}, request ${name.alternative ?? name.request}`;
    const deviceClass = this.#allocator.config.classOf(deviceClassName);
    if (deviceClass === undefined) {
      const why = `deviceclass.resource.k8s.io "${deviceClassName}" not found`;
      throw new AllocationError(
        `${where}: could not retrieve device class ${deviceClassName}: ${why}`,
      );
    }
    const suitable = new Map<PooledDevice, boolean>();
    const ask: Ask = { name, request, deviceClass, adminAccess, count, all: undefined, suitable };
    if (allocationMode === 'ExactCount') return ask;
    if (allocationMode !== 'All')
      throw new AllocationError(`${where}: unsupported count mode ${allocationMode}`);
    const all: PooledDevice[] = [];
    for (const { pool, devices } of this.#pools) {
      if (pool.incomplete) {
        throw new AllocationError(
          `${where}: asks for all devices, but resource pool ${pool.id} is currently being updated`,
        );
      }
      if (pool.invalid) {
        throw new AllocationError(
          `${where}: asks for all devices, but resource pool ${pool.id} is currently invalid`,
        );
      }
      for (const device of devices) {
        if (this.#try()) yield;
        if (yield* this.#suits(ask, claim, device)) all.push(device);
      }
    }
    return { ...ask, all, count: all.length };
  }

  *#request(claim: number, request: number): Steps<Outcome> {
    if (claim === this.#claims.length) return 'done';
    const alternatives = this.#asks[claim]?.[request];
    if (alternatives === undefined) {
      // Another choice for this claim may leave fewer devices for the next one.
      const outcome = yield* this.#request(claim + 1, 0);
      return outcome === 'tooMany' ? 'none' : outcome;
    }
    let tooMany = true;
    for (const ask of alternatives) {
      const outcome =
        ask.all?.length === 0 ? 'none' : yield* this.#devices(claim, request, ask, 0, 0);
      if (outcome === 'done') return outcome;
      if (outcome === 'none') tooMany = false;
    }
    return tooMany ? 'tooMany' : 'none';
  }

  /**
   * Picks devices for a request. `from`: earlier candidates were tried at this place already; the
   * order of one request's devices does not matter.
   */
  *#devices(claim: number, request: number, ask: Ask, had: number, from: number): Steps<Outcome> {
    if (had === ask.count) return yield* this.#request(claim, request + 1);
    const picks = this.#picks[claim]!;
    if (picks.length + ask.count - had > MAX_RESULTS) return 'tooMany';
    if (ask.all !== undefined) {
      if (this.#try()) yield;
      const undo = this.#pick(claim, ask, ask.all[had]!, true);
      if (undo === undefined) return 'none';
      const outcome = yield* this.#devices(claim, request, ask, had + 1, 0);
      if (outcome !== 'done') undo();
      return outcome;
    }
    const object = this.#claims[claim]!;
    for (let i = from; i < this.#candidates.length; i++) {
      const device = this.#candidates[i]!;
      if (this.#try()) yield;
      if (!this.#isFree(claim, ask, device)) continue;
      const suits = ask.suitable.get(device) ?? (yield* this.#suits(ask, object, device));
      if (!suits) continue;
      const undo = this.#pick(claim, ask, device, false);
      if (undo === undefined) continue;
      const outcome = yield* this.#devices(claim, request, ask, had + 1, i + 1);
      if (outcome === 'done') return outcome;
      undo();
      if (outcome === 'tooMany') return outcome;
    }
    return 'none';
  }

  /** Counts a tried device. Reports whether a step ends before it. */
  #try(): boolean {
    const { maxTried = MAX_TRIED } = this.#allocator.config;
    if (++this.#tried > maxTried) throw new AllocationTimeout();
    return this.#tried % TRIED_PER_STEP === 0;
  }

  /**
   * Reports whether the device matches the selectors of the class and the request, and has enough
   * total capacity.
   */
  *#suits(ask: Ask, claim: ResourceClaim, pooled: PooledDevice): Steps<boolean> {
    const { deviceClass, request } = ask;
    const { device } = pooled;
    const className = `class ${deviceClass.metadata.name}`;
    let suits =
      (yield* this.#passes(deviceClass.spec.selectors, className, pooled)) &&
      (yield* this.#passes(request.selectors, `claim ${claimText(claim)}`, pooled));
    if (suits) {
      const capacities = device.capacity ?? {};
      const consumed = consumedBy(request.capacity?.requests, capacities);
      suits = consumed !== undefined && isWithin(consumed, capacities);
    }
    ask.suitable.set(pooled, suits);
    return suits;
  }

  /** Reports whether the device matches the selectors. Each is evaluated in steps of its own. */
  *#passes(
    selectors: Ask['request']['selectors'] = [],
    where: string,
    { device, pool }: PooledDevice,
  ): Steps<boolean> {
    for (const [i, { cel }] of selectors.entries()) {
      if (cel === undefined)
        throw new AllocationError(
          `${where}: selector #${i}: CEL expression empty (unsupported selector type?)`,
        );
      if (!isKnown(cel.expression, device)) yield;
      try {
        if (!(yield* selects(cel.expression, pool.driver, device))) return false;
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        const at = error.message.startsWith('CEL runtime')
          ? ` on device ${pool.id}/${device.name}`
          : '';
        throw new AllocationError(`${where}: selector #${i}${at}: ${error.message}`);
      }
    }
    return true;
  }

  #isFree(claim: number, { adminAccess }: Ask, { key }: PooledDevice): boolean {
    const taken = this.#taken.get(key);
    if (adminAccess) return taken === undefined || !taken.includes(claim);
    return taken === undefined && !this.#allocator.config.inUse.isTaken(key);
  }

  /**
   * Picks the device for the request if it is free and all constraints allow it. Returns a function
   * that releases it. `must`: there is no alternative device.
   */
  #pick(claim: number, ask: Ask, pooled: PooledDevice, must: boolean): (() => void) | undefined {
    const { device, key } = pooled;
    if (!this.#isFree(claim, ask, pooled)) return undefined;
    const share = device.allowMultipleAllocations === true ? this.#shareOf(ask, pooled) : undefined;
    if (device.allowMultipleAllocations === true && share === undefined) return undefined;
    if (!isTolerated(device, ask.request.tolerations ?? [])) return undefined;
    // Further shares of a device consume no additional counters.
    const counted =
      share !== undefined && this.#hasShares(key) ? undefined : this.#takeCounters(pooled);
    if (counted === false) return undefined;
    const giveBack = (): void => counted?.();
    if (!this.#join(claim, ask, pooled)) {
      giveBack();
      if (!must) return undefined;
      const where =
        `claim ${claimText(this.#claims[claim]!)}, request ` +
        (ask.name.alternative ?? ask.name.request);
      const device_ = `${pooled.pool.id}/${device.name}`;
      throw new AllocationError(
        `${where}: cannot add device ${device_} because a claim constraint would not be satisfied`,
      );
    }
    const picks = this.#picks[claim]!;
    picks.push({ ask, pooled, ...(share !== undefined && { share: { consumed: share } }) });
    const freed = share === undefined ? this.#takeWhole(claim, key) : this.#takeShare(key, share);
    return () => {
      picks.pop();
      freed();
      for (const constraint of this.#constraints[claim] ?? []) constraint.remove(ask.name, pooled);
      giveBack();
    };
  }

  #hasShares(key: string): boolean {
    return this.#shared.has(key) || this.#allocator.config.inUse.sharesOf(key) !== undefined;
  }

  /** Returns the share that the request consumes; undefined if not enough is left. */
  #shareOf({ request }: Ask, { key, device }: PooledDevice): Consumed | undefined {
    const capacities = device.capacity ?? {};
    const consumed = consumedBy(request.capacity?.requests, capacities);
    if (consumed === undefined) return undefined;
    const before = sum(this.#allocator.config.inUse.sharesOf(key), this.#shared.get(key)?.consumed);
    return isWithin(sum(before, consumed), capacities) ? consumed : undefined;
  }

  #takeWhole(claim: number, key: string): () => void {
    const claims = this.#taken.get(key) ?? [];
    this.#taken.set(key, [...claims, claim]);
    return () => (claims.length === 0 ? this.#taken.delete(key) : this.#taken.set(key, claims));
  }

  #takeShare(key: string, consumed: Consumed): () => void {
    const before = this.#shared.get(key);
    this.#shared.set(key, {
      count: (before?.count ?? 0) + 1,
      consumed: sum(before?.consumed, consumed),
    });
    return () => {
      const now = this.#shared.get(key);
      if (now === undefined || now.count === 1) this.#shared.delete(key);
      else
        this.#shared.set(key, {
          count: now.count - 1,
          consumed: difference(now.consumed, consumed),
        });
    };
  }

  /**
   * Takes the device's counters. Returns false if there are not enough; undefined if the device
   * uses none.
   */
  #takeCounters({ device, pool }: PooledDevice): (() => void) | false | undefined {
    if (device.consumesCounters === undefined || device.consumesCounters.length === 0)
      return undefined;
    let left = this.#counters.get(pool);
    if (left === undefined) {
      left = new Map(this.#allocator.countersOf(pool));
      this.#counters.set(pool, left);
    }
    const before = new Map<string, Quantity>();
    const undo = (): void => before.forEach((amount, name) => left.set(name, amount));
    for (const [name, amount] of countersOf(device)) {
      const present = left.get(name);
      if (present === undefined) continue;
      if (!before.has(name)) before.set(name, present);
      left.set(name, present.sub(amount));
      if (present.cmp(amount) < 0) {
        undo();
        return false;
      }
    }
    return undo;
  }

  /** Reports whether all constraints of the claim accept the device. */
  #join(claim: number, ask: Ask, device: PooledDevice): boolean {
    const constraints = this.#constraints[claim] ?? [];
    for (const [i, constraint] of constraints.entries()) {
      if (constraint.add(ask.name, device)) continue;
      for (const joined of constraints.slice(0, i)) joined.remove(ask.name, device);
      return false;
    }
    return true;
  }
}

function constraintsOf(claim: ResourceClaim): readonly Constraint[] {
  return (claim.spec.devices.constraints ?? []).map((constraint, i) => {
    const known = constraintOf(constraint);
    if (known !== undefined) return known;
    const why = 'empty constraint (unsupported constraint type?)';
    throw new AllocationError(`claim ${claimText(claim)}, constraint #${i}: ${why}`);
  });
}
