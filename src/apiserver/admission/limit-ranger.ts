// Enforces LimitRanges: they bound the resources of pods and claims in a namespace. Containers
// without requests or limits get the defaults, and a pod or claim outside of the bounds is
// rejected.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import { aggregateContainerResources } from '#api/groups/core/v1/pod-resources.ts';
import { isClaimWrite, type ImmutableClaim } from './claims.ts';
import type { AdmissionServices } from './services.ts';
import { isPodResize, isPodWrite, type ImmutablePod } from './pod-defaults.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

type LimitRange = Immutable<core.LimitRange>;
type LimitRangeItem = NonNullable<LimitRange['spec']['limits']>[number];
type Container = ImmutablePod['spec']['containers'][number];
type ResourceList = Immutable<core.ResourceList>;
type Amounts = ReadonlyMap<string, Quantity>;

const ANNOTATION = 'kubernetes.io/limit-ranger';

export class LimitRanger implements AdmissionPlugin {
  readonly name = 'LimitRanger';
  readonly #services: Pick<AdmissionServices, 'findAll'>;
  /**
   * The LimitRanges that `admit` read, for `validate` of the same request. The array of warnings
   * identifies the request.
   */
  readonly #rangesOfRequest = new WeakMap<AdmissionAttributes['warnings'], readonly LimitRange[]>();

  constructor(services: Pick<AdmissionServices, 'findAll'>) {
    this.#services = services;
  }

  /**
   * Pods are checked when they are created or resized; claims also when they are updated, since
   * they may grow.
   */
  concerns(target: AdmissionTarget): boolean {
    return isClaimWrite(target) || isPodCheck(target);
  }

  handles({ oldObject }: AdmissionAttributes): boolean {
    return oldObject?.metadata.deletionTimestamp === undefined;
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const { object, warnings } = attributes;
    if (!isPodCheck(attributes)) return object;
    return andThen(this.#rangesOf(attributes), (ranges) => {
      this.#rangesOfRequest.set(warnings, ranges);
      return ranges.reduce(withDefaults, object as ImmutablePod);
    });
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const ranges = this.#rangesOfRequest.get(attributes.warnings) ?? this.#rangesOf(attributes);
    return andThen(ranges, (allRanges) => this.#check(attributes, allRanges));
  }

  #check(attributes: AdmissionAttributes, ranges: readonly LimitRange[]): void {
    const { object, resource } = attributes;
    if (object === undefined) return;
    for (const range of ranges) {
      const problems = (range.spec.limits ?? []).flatMap((item) =>
        isPodCheck(attributes)
          ? podProblems(item, object as ImmutablePod)
          : claimProblems(item, object as ImmutableClaim),
      );
      if (problems.length === 0) continue;
      const distinct = [...new Set(problems)];
      const name =
        attributes.name || object.metadata.name || object.metadata.generateName || 'Unknown';
      throw apierrors.forbidden(
        resource,
        name,
        distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`,
      );
    }
  }

  #rangesOf({ namespace }: AdmissionAttributes): Awaitable<readonly LimitRange[]> {
    return this.#services.findAll<LimitRange>('', 'limitranges', namespace);
  }
}

const isPodCheck = (target: AdmissionTarget): boolean =>
  (target.operation === 'CREATE' && isPodWrite(target)) || isPodResize(target);

/** Returns the pod with the range's defaults for containers without requests or limits. */
function withDefaults(pod: ImmutablePod, range: LimitRange): ImmutablePod {
  const requests: Record<string, string> = {};
  const limits: Record<string, string> = {};
  for (const item of range.spec.limits ?? []) {
    if (item.type !== 'Container') continue;
    Object.assign(requests, item.defaultRequest);
    Object.assign(limits, item.default);
  }
  const notes: string[] = [];
  const complete = (container: Container, what: string): Container => {
    const { resources } = container;
    const note = (
      kind: string,
      given: ResourceList | undefined,
      defaults: ResourceList,
    ): ResourceList | undefined => {
      const missing = Object.keys(defaults).filter(
        (name) => given === undefined || !Object.hasOwn(given, name),
      );
      if (missing.length === 0) return given;
      notes.push(`${missing.sort().join(', ')} ${kind} for ${what} ${container.name}`);
      return { ...defaults, ...given };
    };
    const requested = note('request', resources.requests, requests);
    const limited = note('limit', resources.limits, limits);
    const changed = {
      ...resources,
      ...(requested !== undefined && { requests: requested }),
      ...(limited !== undefined && { limits: limited }),
    };
    return { ...container, resources: changed };
  };
  const containers = pod.spec.containers.map((container) => complete(container, 'container'));
  const initContainers = pod.spec.initContainers?.map((container) =>
    complete(container, 'init container'),
  );
  if (notes.length === 0) return pod;
  const annotations = {
    ...pod.metadata.annotations,
    [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
  };
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, containers, ...(initContainers !== undefined && { initContainers }) },
  };
}

function podProblems(item: LimitRangeItem, pod: ImmutablePod): string[] {
  const { spec } = pod;
  if (item.type === 'Pod') {
    return problemsOf(
      item,
      withPodLevel(aggregateContainerResources(spec, 'requests'), spec.resources?.requests),
      withPodLevel(aggregateContainerResources(spec, 'limits'), spec.resources?.limits),
    );
  }
  if (item.type !== 'Container') return [];
  return [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
    problemsOf(item, amounts(resources.requests), amounts(resources.limits)),
  );
}

/** Returns the amounts of the containers, with the pod-level amounts in place of theirs. */
function withPodLevel(aggregate: Amounts, list: ResourceList | undefined): Amounts {
  return new Map([...aggregate, ...amounts(list)]);
}

/** Returns the problems of a claim. Only its requests count. */
function claimProblems(item: LimitRangeItem, claim: ImmutableClaim): string[] {
  if (item.type !== 'PersistentVolumeClaim') return [];
  const requests = amounts(claim.spec.resources.requests);
  return [
    ...each(item.min, (name, least) => below(item.type, name, least, requests, new Map())),
    ...each(item.max, (name, most) => {
      const bound = `maximum ${name} usage per ${item.type} is ${most.toString()}`;
      const request = requests.get(name);
      if (request === undefined) return `${bound}.  No request is specified`;
      return request.cmp(most) > 0 ? `${bound}, but request is ${request.toString()}` : undefined;
    }),
  ];
}

function problemsOf(item: LimitRangeItem, requests: Amounts, limits: Amounts): string[] {
  return [
    ...each(item.min, (name, least) => below(item.type, name, least, requests, limits)),
    ...each(item.max, (name, most) => above(item.type, name, most, requests, limits)),
    ...each(item.maxLimitRequestRatio, (name, ratio) =>
      overRatio(item.type, name, ratio, requests, limits),
    ),
  ];
}

function below(
  type: string,
  name: string,
  least: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const bound = `minimum ${name} usage per ${type} is ${least.toString()}`;
  const [request, limit] = [requests.get(name), limits.get(name)];
  if (request === undefined) return `${bound}.  No request is specified`;
  if (request.cmp(least) < 0) return `${bound}, but request is ${request.toString()}`;
  return limit !== undefined && limit.cmp(least) < 0
    ? `${bound}, but limit is ${limit.toString()}`
    : undefined;
}

function above(
  type: string,
  name: string,
  most: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const bound = `maximum ${name} usage per ${type} is ${most.toString()}`;
  const [request, limit] = [requests.get(name), limits.get(name)];
  if (limit === undefined) return `${bound}.  No limit is specified`;
  if (limit.cmp(most) > 0) return `${bound}, but limit is ${limit.toString()}`;
  return request !== undefined && request.cmp(most) > 0
    ? `${bound}, but request is ${request.toString()}`
    : undefined;
}

function overRatio(
  type: string,
  name: string,
  ratio: Quantity,
  requests: Amounts,
  limits: Amounts,
): string | undefined {
  const bound = `${name} max limit to request ratio per ${type} is ${ratio.toString()}`;
  const [request, limit] = [requests.get(name), limits.get(name)];
  if (request === undefined || request.isZero())
    return `${bound}, but no request is specified or request is 0`;
  if (limit === undefined || limit.isZero())
    return `${bound}, but no limit is specified or limit is 0`;
  const provided = limit.toNumber() / request.toNumber();
  return provided > ratio.toNumber()
    ? `${bound}, but provided ratio is ${provided.toFixed(6)}`
    : undefined;
}

function each(
  list: ResourceList | undefined,
  problem: (name: string, amount: Quantity) => string | undefined,
): string[] {
  return [...amounts(list)].flatMap(([name, amount]) => problem(name, amount) ?? []);
}

function amounts(list: ResourceList | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
}
