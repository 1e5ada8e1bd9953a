// Compiles the expressions of a validating policy.

import {
  ExpressionCompiler,
  type ExpressionUse,
} from '#api/groups/admissionregistration/v1/expressions.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Expression, Variable } from '../evaluation.ts';

export type Policy = Immutable<admission.ValidatingAdmissionPolicy>;
export type Binding = Immutable<admission.ValidatingAdmissionPolicyBinding>;

export interface Validation {
  readonly condition: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string | undefined;
}

export interface CompiledPolicy {
  readonly variables: readonly Variable[];
  readonly matchConditions: readonly Expression[];
  readonly validations: readonly Validation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly value: Expression }[];
}

export function compilePolicy({ spec }: Policy): CompiledPolicy {
  const compiler = new ExpressionCompiler({
    hasParams: spec.paramKind !== undefined,
    hasVariables: true,
  });
  const compile = (source: string, use: ExpressionUse): Expression => ({
    source,
    compiled: compiler.compile(source, use),
  });
  return {
    // Variables are compiled first, since later expressions use them.
    variables: (spec.variables ?? []).map(({ name, expression }) => ({
      name,
      source: expression,
      compiled: compiler.compileVariable(name, expression),
    })),
    matchConditions: (spec.matchConditions ?? []).map(({ expression }) =>
      compile(expression, 'matchCondition'),
    ),
    validations: (spec.validations ?? []).map(
      ({ expression, message = '', messageExpression = '', reason }) => ({
        condition: compile(expression, 'validation'),
        message,
        messageExpression:
          messageExpression === '' ? undefined : compile(messageExpression, 'message'),
        reason,
      }),
    ),
    auditAnnotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      value: compile(valueExpression, 'auditAnnotation'),
    })),
  };
}
