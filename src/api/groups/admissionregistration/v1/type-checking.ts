// Whether the expressions of a policy fit the kinds that it is for: fields that they do not have, comparisons that make no sense.
// A policy with such expressions is taken all the same, since it may be for other kinds, too; it is told in its status.

import { typeOfMessage } from '#cel/index.ts';
import type { ObjectType } from '#cel/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { allResources, messageOfKind } from '#api/machinery/schema/compile.ts';
import { ExpressionCompiler } from './expressions.ts';
import type { ExpressionUse } from './expressions.ts';
import type * as admission from './types.ts';

type Policy = Immutable<admission.ValidatingAdmissionPolicy>;

/** A policy for more kinds is checked against so many of them. */
const MAX_KINDS = 10;
const COMPILATION = 'compilation failed: ';

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly type: ObjectType;
}

export function typeCheckPolicy(policy: Policy): admission.ExpressionWarning[] {
  const kinds = kindsOf(policy);
  const { paramKind, variables = [], validations = [] } = policy.spec;
  const paramsMessage = paramKind === undefined ? undefined : messageOfKind(paramKind.apiVersion ?? '', paramKind.kind ?? '');
  const compilers = kinds.map((kind) => {
    const compiler = new ExpressionCompiler({
      hasParams: paramKind !== undefined,
      hasVariables: true,
      objectType: kind.type,
      ...(paramsMessage !== undefined && { paramsType: typeOfMessage(paramsMessage) }),
    });
    for (const { name, expression } of variables) compiler.compileVariable(name, expression);
    return { kind, compiler };
  });
  const check = (fieldRef: string, expression: string, use: ExpressionUse): admission.ExpressionWarning[] => {
    const problems = compilers.flatMap(({ kind, compiler }) => {
      const { problem } = compiler.compile(expression, use);
      return problem === undefined ? [] : [`${nameOf(kind)}: ${problem.replace(COMPILATION, '')}`];
    });
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression = '' }, index) => [
    ...check(`spec.validations[${index}].expression`, expression, 'validation'),
    ...(messageExpression === '' ? [] : check(`spec.validations[${index}].messageExpression`, messageExpression, 'message')),
  ]);
}

function nameOf({ group, version, kind }: Kind): string {
  return `${group === '' ? '' : `${group}/`}${version}, Kind=${kind}`;
}

/** Those that its rules name; what is meant by `*` nobody can check. */
function kindsOf({ spec }: Policy): readonly Kind[] {
  const found = new Map<string, Kind>();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of spec.matchConstraints?.resourceRules ?? []) {
    for (const { group, version, resource, kind } of allResources()) {
      if (!apiGroups?.includes(group) || !apiVersions?.includes(version) || !resources?.includes(resource)) continue;
      const message = messageOfKind(group === '' ? version : `${group}/${version}`, kind);
      if (message !== undefined) found.set(`${group} ${version} ${kind}`, { group, version, kind, type: typeOfMessage(message) });
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_KINDS)
    .map(([, kind]) => kind);
}
