// Checks whether the expressions of a policy fit the kinds that it matches: unknown fields,
// meaningless comparisons. A policy with such expressions is accepted, since it may match other
// kinds, too. Its status reports the warnings.

import type { ObjectType } from '#cel/index.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import { ExpressionCompiler, type ExpressionUse } from './expressions.ts';
import type * as admission from './types.ts';

type Policy = Immutable<admission.ValidatingAdmissionPolicy>;

/** The number of kinds against which a policy is checked. */
const MAX_KINDS = 10;
const COMPILATION = 'compilation failed: ';

/** The kinds that a policy may match. */
export interface CheckedKinds {
  /** All resources that rules may name. */
  readonly resources: readonly ResourceType[];
  /** Returns the type of a kind's objects; undefined if it is unknown. */
  typeOf(kind: GroupVersionKind): ObjectType | undefined;
}

interface Kind extends GroupVersionKind {
  readonly type: ObjectType;
}

/** Returns the warnings for expressions that do not fit the kinds in the policy's rules. */
export function typeCheckPolicy(
  policy: Policy,
  known: CheckedKinds,
): admission.ExpressionWarning[] {
  const kinds = kindsOf(policy, known);
  const { paramKind, variables = [], validations = [] } = policy.spec;
  const paramsVersion = parseApiVersion(paramKind?.apiVersion ?? '');
  const paramsType =
    paramsVersion === undefined
      ? undefined
      : known.typeOf({ ...paramsVersion, kind: paramKind?.kind ?? '' });
  const compilers = kinds.map((kind) => {
    const compiler = new ExpressionCompiler({
      hasParams: paramKind !== undefined,
      hasVariables: true,
      objectType: kind.type,
      ...(paramsType !== undefined && { paramsType }),
    });
    for (const { name, expression } of variables) compiler.compileVariable(name, expression);
    return { kind, compiler };
  });
  const check = (
    fieldRef: string,
    expression: string,
    use: ExpressionUse,
  ): admission.ExpressionWarning[] => {
    const problems = compilers.flatMap(({ kind, compiler }) => {
      const { problem } = compiler.compile(expression, use);
      return problem === undefined ? [] : [`${nameOf(kind)}: ${problem.replace(COMPILATION, '')}`];
    });
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join('\n') }];
  };
  return validations.flatMap(({ expression, messageExpression = '' }, index) => [
    ...check(`spec.validations[${index}].expression`, expression, 'validation'),
    ...(messageExpression === ''
      ? []
      : check(`spec.validations[${index}].messageExpression`, messageExpression, 'message')),
  ]);
}

function nameOf({ group, version, kind }: Kind): string {
  return `${group === '' ? '' : `${group}/`}${version}, Kind=${kind}`;
}

/** Returns the kinds that the rules name. `*` cannot be resolved and is ignored. */
function kindsOf({ spec }: Policy, known: CheckedKinds): readonly Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { apiGroups = [], apiVersions = [], resources = [] } of spec.matchConstraints
    ?.resourceRules ?? []) {
    for (const { group, version, resource, kind } of known.resources) {
      if (
        !apiGroups?.includes(group) ||
        !apiVersions?.includes(version) ||
        !resources?.includes(resource)
      )
        continue;
      const type = known.typeOf({ group, version, kind });
      if (type !== undefined)
        kinds.set(`${group} ${version} ${kind}`, { group, version, kind, type });
    }
  }
  return [...kinds]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MAX_KINDS)
    .map(([, kind]) => kind);
}
