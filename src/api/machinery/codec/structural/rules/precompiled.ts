// Rules that are compiled before their definition is validated. Validation is synchronous, and a
// definition may have thousands of rules, each of which takes up to a millisecond.

import { MAX_EXPRESSIONS_LENGTH } from '#machinery/validation/field.ts';
import type { Steps } from '#machinery/turn.ts';
import type { JSONSchemaProps, ValidationRule } from '../json-schema-props.ts';
import { isSchema } from '../structural-schema.ts';
import { type CompiledRule, RuleCompiler } from './compile.ts';
import { RuleScope } from './scope.ts';
import { rulesOf } from './validate-rules.ts';

/** Compiled rules, by the rule object in the schema. */
export class CompiledRules {
  readonly #compiled = new Map<ValidationRule, CompiledRule>();

  readonly find = (rule: ValidationRule): CompiledRule | undefined => this.#compiled.get(rule);

  add(rule: ValidationRule, compiled: CompiledRule): void {
    this.#compiled.set(rule, compiled);
  }
}

/** The number of expression characters that are compiled in one step. */
const STEP_LENGTH = 2000;

/**
 * Compiles all rules of a schema, in steps of a few milliseconds (runStepsInTurns). Pass the result
 * to validateSchema, with the same schema. The schema need not be valid. A rule that is too long is
 * left to validateSchema, which rejects it.
 */
export function* compileRulesOf(source: JSONSchemaProps): Steps<CompiledRules> {
  const compiled = new CompiledRules();
  let length = 0;
  for (const { node, scope } of scopesOf(source, RuleScope.root(source))) {
    const rules = rulesOf(node);
    const type = rules.length === 0 ? undefined : scope.type;
    if (type === undefined) continue;
    const compiler = new RuleCompiler(type);
    for (const rule of rules) {
      const own = rule.rule.length + (rule.messageExpression ?? '').length;
      if (own > MAX_EXPRESSIONS_LENGTH) continue;
      compiled.add(rule, compiler.compile(rule, node));
      length += own + 100;
      if (length < STEP_LENGTH) continue;
      length = 0;
      yield;
    }
  }
  return compiled;
}

interface ScopedNode {
  readonly node: JSONSchemaProps;
  readonly scope: RuleScope;
}

function* scopesOf(node: JSONSchemaProps, scope: RuleScope): Generator<ScopedNode, void> {
  yield { node, scope };
  for (const part of [
    node.items,
    node.additionalProperties,
    ...Object.values(node.properties ?? {}),
  ]) {
    if (isSchema(part)) yield* scopesOf(part, scope.child(part));
  }
}
