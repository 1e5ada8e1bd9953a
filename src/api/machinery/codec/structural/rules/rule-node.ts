// The parts of a schema with rules at or below them. The evaluation of rules skips everything else.

import type { Type } from '#cel/index.ts';
import type { ValidationRule } from '../json-schema-props.ts';
import { type StructuralSchema, valuesOf } from '../structural-schema.ts';
import { type CompiledRule, RuleCompiler, typeOfSelf } from './compile.ts';
import { NO_TIMES, type RuleTimes } from './times.ts';
import { rulesOf } from './validate-rules.ts';

/** One node. Its rules are compiled when its first value is evaluated. */
export class RuleNode {
  readonly schema: StructuralSchema;
  readonly rules: readonly ValidationRule[];
  readonly items: RuleNode | undefined;
  readonly values: RuleNode | undefined;
  readonly properties: readonly (readonly [name: string, node: RuleNode])[];
  readonly times: RuleTimes;
  readonly #isResource: boolean;
  #compiled: readonly CompiledRule[] | undefined;
  #type: { readonly of: Type | undefined } | undefined;
  #usesOldSelf: boolean | undefined;

  constructor(schema: StructuralSchema, isResource: boolean, times: RuleTimes) {
    const values = valuesOf(schema);
    this.schema = schema;
    this.rules = rulesOf(schema.source);
    this.#isResource = isResource;
    this.times = times;
    this.items =
      schema.items === undefined ? undefined : ruleNodeOf(schema.items, undefined, times);
    this.values = values === undefined ? undefined : ruleNodeOf(values, undefined, times);
    this.properties = [...schema.properties].flatMap(([name, property]) => {
      const node = ruleNodeOf(property, undefined, times);
      // Rules of fields that are invisible to rules are not evaluated.
      return node === undefined || node.type === undefined ? [] : [[name, node] as const];
    });
  }

  get isLeaf(): boolean {
    return this.items === undefined && this.values === undefined && this.properties.length === 0;
  }

  get hasRules(): boolean {
    return this.rules.length > 0 || !this.isLeaf;
  }

  /** The type of `self`. Undefined: rules cannot see such values. */
  get type(): Type | undefined {
    this.#type ??= { of: typeOfSelf(this.schema.source, this.#isResource) };
    return this.#type.of;
  }

  get usesOldSelf(): boolean {
    this.#usesOldSelf ??= this.compiled?.some(({ usesOldSelf }) => usesOldSelf) ?? false;
    return this.#usesOldSelf;
  }

  /** The compiled rules, in order. Undefined: rules cannot see values of the node. */
  get compiled(): readonly CompiledRule[] | undefined {
    if (this.#compiled === undefined) {
      const { type } = this;
      if (type === undefined) return undefined;
      const start = this.times.now();
      const compiler = new RuleCompiler(type);
      this.#compiled = this.rules.map((rule) => compiler.compile(rule, this.schema.source));
      this.times.compiled(start);
    }
    return this.#compiled;
  }
}

/**
 * Returns the node of a schema; undefined if the schema has no rules at all. `isResource`: it
 * describes whole resources.
 */
export function ruleNodeOf(
  schema: StructuralSchema,
  isResource: boolean = schema.embeddedResource,
  times: RuleTimes = NO_TIMES,
): RuleNode | undefined {
  const node = new RuleNode(schema, isResource, times);
  return node.hasRules ? node : undefined;
}
