// The position of rules in a definition's schema: the maximal number of values of a node in one
// object, and whether rules can see them.

import type { Type } from '#cel/index.ts';
import type { JSONSchemaProps } from '../json-schema-props.ts';
import { typeOfSelf } from './compile.ts';
import { maxChildren, maxOccurrences, multiplyCosts, TotalCost } from './costs.ts';

/**
 * One node of the schema. Nodes inside of allOf, anyOf, oneOf and not have no scope: rules are not
 * compiled there.
 */
export class RuleScope {
  readonly #source: JSONSchemaProps;
  readonly #parent: RuleScope | undefined;
  /** The node or an enclosing one has rules. */
  readonly #isWithinRules: boolean;
  /** Undefined: enclosing lists or maps have no limits. */
  readonly #occurrences: number | undefined;
  readonly total: TotalCost;
  #type: { readonly of: Type | undefined } | undefined;

  private constructor(
    source: JSONSchemaProps,
    parent: RuleScope | undefined,
    occurrences: number | undefined,
  ) {
    this.#source = source;
    this.#parent = parent;
    this.#occurrences = occurrences;
    this.#isWithinRules =
      (parent !== undefined && parent.#isWithinRules) ||
      (source['x-kubernetes-validations'] ?? []).length > 0;
    this.total = parent?.total ?? new TotalCost();
  }

  static root(source: JSONSchemaProps): RuleScope {
    return new RuleScope(source, undefined, 1);
  }

  /** Returns the scope of a property, of items or of map values. */
  child(source: JSONSchemaProps): RuleScope {
    const each = maxChildren(this.#source);
    const occurrences =
      this.#occurrences === undefined || each === undefined
        ? undefined
        : multiplyCosts(this.#occurrences, each);
    return new RuleScope(source, this, occurrences);
  }

  /**
   * The type of `self`. Undefined: rules cannot see values of the node, or of an enclosing one that
   * has rules or is within such a node.
   */
  get type(): Type | undefined {
    this.#type ??= {
      of:
        this.#parent?.isInvisible === true ? undefined : typeOfSelf(this.#source, this.#isResource),
    };
    return this.#type.of;
  }

  get isInvisible(): boolean {
    return this.#isWithinRules && this.type === undefined;
  }

  /** Returns the cost of an expression of the node for all its values in one object. */
  costOf(maxCost: number): number {
    return multiplyCosts(
      maxCost,
      this.#occurrences ?? maxOccurrences(this.#source, this.#isResource),
    );
  }

  get #isResource(): boolean {
    return this.#parent === undefined || this.#source['x-kubernetes-embedded-resource'] === true;
  }
}
