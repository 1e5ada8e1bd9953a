// Finds the policies that apply to a request, each with its binding and parameter.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { matchRequest } from './matching.ts';
import { collectParams, paramResource } from './params.ts';
import type { AnyBinding, AnyPolicy, Hook } from './policy-source.ts';
import type { PolicyRequest, ResourceAndKind, VersionedObjects } from './request.ts';

export interface Invocation<Policy, Binding, Compiled> {
  readonly policy: Policy;
  readonly binding: Binding;
  readonly compiled: Compiled;
  readonly matched: ResourceAndKind;
  readonly objects: VersionedObjects;
  /** The parameter; null: the policy is evaluated without one. */
  readonly param: KubeObject | null;
}

/** A policy or binding that is invalid. */
export interface Misconfiguration<Policy, Binding> {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly problem: string;
}

/** A policy to evaluate, or one that cannot be evaluated. */
export type InvocationOrMisconfiguration<Policy, Binding, Compiled> =
  | {
      readonly invocation: Invocation<Policy, Binding, Compiled>;
      readonly misconfiguration?: undefined;
    }
  | {
      readonly invocation?: undefined;
      readonly misconfiguration: Misconfiguration<Policy, Binding>;
    };

/** Returns the invocations in the order of policies, bindings and parameters. */
export async function findInvocations<
  Policy extends AnyPolicy,
  Binding extends AnyBinding,
  Compiled,
>(
  request: PolicyRequest,
  hooks: readonly Hook<Policy, Binding, Compiled>[],
): Promise<readonly InvocationOrMisconfiguration<Policy, Binding, Compiled>[]> {
  const invocations: InvocationOrMisconfiguration<Policy, Binding, Compiled>[] = [];
  for (const hook of hooks) {
    const { policy } = hook;
    const wrong = (error: unknown, binding?: Binding): void => {
      const what = binding === undefined ? 'policy' : 'binding';
      const problem = `failed to configure ${what}: ${messageOf(error)}`;
      invocations.push({ misconfiguration: { policy, binding, problem } });
    };
    let matched: ResourceAndKind | undefined;
    let params: Kind | undefined;
    try {
      const { matchConstraints, paramKind } = policy.spec;
      if (matchConstraints === undefined)
        throw new Error('policy contained no match constraints, a required field');
      matched = await matchRequest(matchConstraints, request);
      if (matched === undefined) continue;
      params = paramKind === undefined ? undefined : paramResource(paramKind, request.snapshot);
    } catch (error) {
      wrong(error);
      continue;
    }
    for (const binding of hook.bindings) {
      try {
        for (const invocation of await invocationsOf(request, hook, binding, matched, params))
          invocations.push({ invocation });
      } catch (error) {
        wrong(error, binding);
      }
    }
  }
  return invocations;
}

/**
 * Returns the invocations of one binding. Throws an Error that describes a misconfiguration of the
 * binding.
 */
async function invocationsOf<Policy extends AnyPolicy, Binding extends AnyBinding, Compiled>(
  request: PolicyRequest,
  { policy, compiled }: Hook<Policy, Binding, Compiled>,
  binding: Binding,
  matched: ResourceAndKind,
  paramsOf: Kind | undefined,
): Promise<readonly Invocation<Policy, Binding, Compiled>[]> {
  const { matchResources, paramRef } = binding.spec;
  if (matchResources !== undefined && (await matchRequest(matchResources, request)) === undefined)
    return [];
  const params = await collectParams(paramsOf, paramRef, request.namespace);
  if (params.length === 0) return [];
  const objects = await inVersion(request, matched);
  return params.map((param) => ({ policy, binding, compiled, matched, objects, param }));
}

async function inVersion(
  request: PolicyRequest,
  { kind }: ResourceAndKind,
): Promise<VersionedObjects> {
  try {
    return await request.inVersion(kind);
  } catch (error) {
    throw new Error(`failed to convert object version: ${messageOf(error)}`, { cause: error });
  }
}

/** Returns the message of an error. Rethrows errors that are bugs of this program. */
function messageOf(error: unknown): string {
  if (error instanceof TypeError || error instanceof RangeError || !(error instanceof Error))
    throw error;
  return error.message;
}
