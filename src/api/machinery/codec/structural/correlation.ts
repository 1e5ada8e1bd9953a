// The old and new values of an update: which old value corresponds to a new one, and whether both
// are equal. Rules are not enforced for unchanged values that violated them before (KEP-4008,
// ratcheting).

import { deepEqual, getOwn, isPlainObject } from '#machinery/deep.ts';
import { hasKeys, itemKey, itemsByKey } from './list-keys.ts';
import { schemaOfField, type StructuralSchema } from './structural-schema.ts';

/** One pair of values. Pairs inside are created on demand and cached. */
export class Correlation {
  readonly #value: unknown;
  readonly #old: unknown;
  readonly #schema: StructuralSchema;
  readonly #children = new Map<string | number, Correlation | undefined>();
  #oldByKey: ReadonlyMap<string, unknown> | undefined;
  #isEqual: boolean | undefined;

  constructor(value: unknown, old: unknown, schema: StructuralSchema) {
    this.#value = value;
    this.#old = old;
    this.#schema = schema;
  }

  /** Returns the pair of the field. Undefined: one of the objects lacks it, or it has no schema. */
  field(name: string): Correlation | undefined {
    if (this.#children.has(name)) return this.#children.get(name);
    const schema = schemaOfField(this.#schema, name);
    const has = (object: unknown): boolean => isPlainObject(object) && Object.hasOwn(object, name);
    const child =
      schema !== undefined && has(this.#value) && has(this.#old)
        ? new Correlation(
            getOwn(this.#value as object as Record<string, unknown>, name),
            getOwn(this.#old as Record<string, unknown>, name),
            schema,
          )
        : undefined;
    this.#children.set(name, child);
    return child;
  }

  /**
   * Returns the pair of the new list's item. Undefined: the list has no keys, or the old list has
   * no such item.
   */
  item(index: number): Correlation | undefined {
    if (this.#children.has(index)) return this.#children.get(index);
    const { items } = this.#schema;
    const value = Array.isArray(this.#value) ? (this.#value as unknown[])[index] : undefined;
    const old = items === undefined ? undefined : this.#oldItem(value);
    const child =
      items === undefined || old === undefined ? undefined : new Correlation(value, old, items);
    this.#children.set(index, child);
    return child;
  }

  get isEqual(): boolean {
    this.#isEqual ??= this.#compare();
    return this.#isEqual;
  }

  #oldItem(item: unknown): unknown {
    if (!hasKeys(this.#schema) || !Array.isArray(this.#old)) return undefined;
    this.#oldByKey ??= itemsByKey(this.#schema, this.#old);
    const key = itemKey(this.#schema, item);
    return key === undefined ? undefined : this.#oldByKey.get(key);
  }

  /**
   * Compares the values. Items of a list with keys may have changed their order: they are compared
   * by key.
   */
  #compare(): boolean {
    const [value, old] = [this.#value, this.#old];
    if (value === null || old === null) return value === old;
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || value.length !== old.length) return false;
      if (!hasKeys(this.#schema)) return deepEqual(value, old);
      return value.every((_, index) => this.item(index)?.isEqual ?? false);
    }
    if (!isPlainObject(value) || !isPlainObject(old)) return deepEqual(value, old);
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) => this.field(name)?.isEqual ?? false);
  }
}
