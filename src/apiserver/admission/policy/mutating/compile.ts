// Compiles the expressions of a mutating policy.

import { ExpressionCompiler } from '#api/groups/admissionregistration/v1/expressions.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Expression, Variable } from '../evaluation.ts';

export type Policy = Immutable<admission.MutatingAdmissionPolicy>;
export type Binding = Immutable<admission.MutatingAdmissionPolicyBinding>;

/** A mutation. `how`: the kind of value, an apply configuration or a list of patch operations. */
export interface Mutation {
  readonly how: 'applyConfiguration' | 'jsonPatch';
  readonly expression: Expression;
}

export interface CompiledPolicy {
  readonly variables: readonly Variable[];
  readonly matchConditions: readonly Expression[];
  readonly mutations: readonly Mutation[];
}

export function compilePolicy({ spec }: Policy): CompiledPolicy {
  const compiler = new ExpressionCompiler({
    hasParams: spec.paramKind !== undefined,
    hasVariables: true,
  });
  return {
    // Variables are compiled first, since later expressions use them.
    variables: (spec.variables ?? []).map(({ name, expression }) => ({
      name,
      source: expression,
      compiled: compiler.compileVariable(name, expression),
    })),
    matchConditions: (spec.matchConditions ?? []).map(({ expression }) => ({
      source: expression,
      compiled: compiler.compile(expression, 'matchCondition'),
    })),
    mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => {
      const how = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
      const source = (how === 'jsonPatch' ? jsonPatch : applyConfiguration)?.expression ?? '';
      return { how, expression: { source, compiled: compiler.compile(source, how) } };
    }),
  };
}
