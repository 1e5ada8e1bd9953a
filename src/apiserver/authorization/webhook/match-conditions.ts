// The match conditions of an authorization webhook: expressions over a SubjectAccessReviewSpec that
// decide whether the webhook is asked. Types and messages are upstream's (apiserver
// pkg/authorization/cel).

import type { SubjectAccessReviewSpec } from '#api/groups/authorization/v1/index.ts';
import { Environment, kubernetesLibraries, type Program, types } from '#cel/index.ts';
import { joinMessages } from '#machinery/validation/field.ts';

const { BOOL, list, map, object, STRING } = types;

const SELECTOR_REQUIREMENT = object('kubernetes.SelectorRequirement', {
  key: STRING,
  operator: STRING,
  values: list(STRING),
});
const selector = (name: string): types.ObjectType =>
  object(name, { rawSelector: STRING, requirements: list(SELECTOR_REQUIREMENT) });

const REQUEST = object('kubernetes.SubjectAccessReviewSpec', {
  resourceAttributes: object('kubernetes.ResourceAttributes', {
    namespace: STRING,
    verb: STRING,
    group: STRING,
    version: STRING,
    resource: STRING,
    subresource: STRING,
    name: STRING,
    fieldSelector: selector('kubernetes.FieldSelectorAttributes'),
    labelSelector: selector('kubernetes.LabelSelectorAttributes'),
  }),
  nonResourceAttributes: object('kubernetes.NonResourceAttributes', {
    path: STRING,
    verb: STRING,
  }),
  user: STRING,
  groups: list(STRING),
  extra: map(STRING, list(STRING)),
  uid: STRING,
});

const ENVIRONMENT = new Environment({
  variables: { request: REQUEST },
  libraries: kubernetesLibraries,
});

export interface MatchCondition {
  readonly source: string;
  readonly program: Program;
}

export type CompiledCondition =
  | { readonly condition: MatchCondition; readonly problem?: undefined }
  | { readonly condition?: undefined; readonly problem: string };

/** Compiles an expression. It must evaluate to bool. */
export function compileMatchCondition(source: string): CompiledCondition {
  const { program, error } = ENVIRONMENT.compile(source);
  if (program === undefined) return { problem: `compilation failed: ${error.message}` };
  if (!types.sameType(program.resultType, BOOL))
    return {
      problem: `must evaluate to bool but got ${types.resultTypeName(program.resultType)}`,
    };
  return { condition: { source, program } };
}

/** `failed`: a condition could not be evaluated before the decision. */
export interface MatchResult {
  readonly matches: boolean;
  /** Set if conditions failed and none was false. */
  readonly problem?: string;
  readonly failed: boolean;
}

/** Evaluates conditions in order, in turns of the event loop. The first that is false decides. */
export async function evaluateConditions(
  conditions: readonly MatchCondition[],
  spec: SubjectAccessReviewSpec,
): Promise<MatchResult> {
  const request = requestValue(spec);
  const problems = new Set<string>();
  for (const { source, program } of conditions) {
    const { value, error } = await program.evaluateAsync({ request });
    if (error !== undefined)
      problems.add(
        `cel evaluation error: expression '${source}' resulted in error: ${error.message}`,
      );
    else if (value !== true) return { matches: false, failed: problems.size > 0 };
  }
  if (problems.size === 0) return { matches: true, failed: false };
  return { matches: false, problem: joinMessages(problems), failed: true };
}

/** Returns the specification with all its texts, also empty ones, so that expressions see them. */
function requestValue(spec: SubjectAccessReviewSpec): object {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const { user = '', groups = [], uid = '', extra = {} } = spec;
  return {
    ...(resourceAttributes !== undefined && { resourceAttributes }),
    ...(nonResourceAttributes !== undefined && { nonResourceAttributes }),
    user,
    groups,
    uid,
    extra,
  };
}
