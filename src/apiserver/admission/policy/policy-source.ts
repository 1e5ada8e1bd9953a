// The bound policies of one kind, in memory: the registry is followed, so that requests need no
// lookups. A policy is compiled when a request first needs it, and again only after it has changed.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { type Keeper, keyOf } from '#apiserver/catalog/follow.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import { LazyFollower } from '../lazy-follower.ts';
import { mayMatch } from './matching.ts';
import { PolicyRequest } from './request.ts';
import type { PolicyServices } from './services.ts';

export interface AnyPolicy extends KubeObject {
  readonly spec: {
    readonly matchConstraints?: Immutable<admission.MatchResources>;
    readonly paramKind?: Immutable<admission.ParamKind>;
    readonly failurePolicy?: admission.FailurePolicyType;
  };
}

export interface AnyBinding extends KubeObject {
  readonly spec: {
    readonly policyName?: string;
    readonly paramRef?: Immutable<admission.ParamRef>;
    readonly matchResources?: Immutable<admission.MatchResources>;
  };
}

/** A policy with at least one binding. */
export interface Hook<Policy, Binding, Compiled> {
  readonly policy: Policy;
  readonly bindings: readonly Binding[];
  readonly compiled: Compiled;
}

export interface PolicySourceConfig<Policy, Compiled> extends PolicyServices {
  readonly policies: ResourceType;
  readonly bindings: ResourceType;
  readonly compile: (policy: Policy) => Compiled;
}

export class PolicySource<Policy extends AnyPolicy, Binding extends AnyBinding, Compiled> {
  readonly #config: PolicySourceConfig<Policy, Compiled>;
  readonly #policies = new Map<string, Policy>();
  readonly #bindings = new Map<string, Binding>();
  /** Compiled policies by name. A change of status does not recompile a policy. */
  readonly #compiled = new Map<string, { readonly of: string; readonly compiled: Compiled }>();
  #hooks: readonly Hook<Policy, Binding, Compiled>[] | undefined = [];
  readonly #follower: LazyFollower;

  constructor(config: PolicySourceConfig<Policy, Compiled>) {
    this.#config = config;
    const { policies, bindings } = config;
    this.#follower = new LazyFollower(config, (follower) =>
      Promise.all([
        follower.follow(policies.group, policies.resource, this.#keep(this.#policies)),
        follower.follow(bindings.group, bindings.resource, this.#keep(this.#bindings)),
      ]),
    );
  }

  /**
   * Reports whether a policy might apply to a request, whatever its name and its content are: there
   * is one with a binding whose rules match, or the policies are not loaded yet.
   */
  mayApply(attributes: AdmissionAttributes): boolean {
    if (!this.#follower.started) return true;
    this.#hooks ??= this.#findHooks();
    if (this.#hooks.length === 0) return false;
    const request = new PolicyRequest(attributes, this.#config);
    return this.#hooks.some(({ policy: { spec }, bindings }) => {
      const { matchConstraints } = spec;
      // Without constraints the policy is reported as misconfigured.
      if (matchConstraints === undefined) return true;
      return (
        mayMatch(matchConstraints, request) &&
        bindings.some(
          ({ spec: { matchResources } }) =>
            matchResources === undefined || mayMatch(matchResources, request),
        )
      );
    });
  }

  /**
   * Returns the bound policies in the order of their names, and of their bindings' names. Rejects
   * with Forbidden as long as the policies cannot be read: no request is admitted before that.
   */
  async hooksFor(
    attributes: AdmissionAttributes,
  ): Promise<readonly Hook<Policy, Binding, Compiled>[]> {
    if (!this.#follower.started) await this.#follower.ready(attributes);
    this.#hooks ??= this.#findHooks();
    return this.#hooks;
  }

  #keep<T>(kept: Map<string, T>): Keeper {
    return {
      set: (object) => {
        kept.set(keyOf(object), object as T);
        this.#hooks = undefined;
      },
      delete: (key) => {
        kept.delete(key);
        this.#hooks = undefined;
      },
    };
  }

  #findHooks(): readonly Hook<Policy, Binding, Compiled>[] {
    for (const name of this.#compiled.keys())
      if (!this.#policies.has(name)) this.#compiled.delete(name);
    const bound = new Map<string, Binding[]>();
    for (const [, binding] of sorted(this.#bindings)) {
      const name = binding.spec.policyName ?? '';
      bound.set(name, [...(bound.get(name) ?? []), binding]);
    }
    return sorted(this.#policies).flatMap(([name, policy]) => {
      const bindings = bound.get(name);
      if (bindings === undefined) return [];
      const compile = (): Compiled => this.#compile(policy);
      return [
        {
          policy,
          bindings,
          get compiled() {
            return compile();
          },
        },
      ];
    });
  }

  #compile(policy: Policy): Compiled {
    const { name, uid, generation } = policy.metadata;
    const of = `${uid} ${generation}`;
    const cached = this.#compiled.get(name);
    if (cached?.of === of) return cached.compiled;
    const { compile, celMetrics } = this.#config;
    const compiled = celMetrics.compile(() => compile(policy));
    this.#compiled.set(name, { of, compiled });
    return compiled;
  }
}

function sorted<T>(kept: ReadonlyMap<string, T>): (readonly [string, T])[] {
  return [...kept].sort(([a], [b]) => (a < b ? -1 : 1));
}
