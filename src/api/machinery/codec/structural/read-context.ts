// The state of decoding an object: the path to the current value, and the dropped fields.

import { FieldPath } from '#machinery/validation/field.ts';
import type { DecodeOptions } from '../object-codec.ts';

/** The limit of reported fields. Upstream reports all of them, which may be megabytes. */
const MAX_UNKNOWN_FIELDS = 100;

export class ReadContext {
  /** Fields that the schema does not have, in the order of the input. */
  readonly pruned: string[] = [];
  /**
   * Fields in the metadata of embedded resources that ObjectMeta does not have, in the order of the
   * input.
   */
  readonly inMetadata: string[] = [];
  /** Names and indices on the path to the value. Only the first `#depth` are valid. */
  readonly #frames: (string | number)[] = [];
  /** Whether each frame is a map key, which field errors write in brackets. */
  readonly #isKey: boolean[] = [];
  #depth = 0;
  readonly #base: FieldPath;
  /** Nulls that the schema does not allow are kept. */
  readonly keepsNulls: boolean;
  /** The object was stored: see DecodeOptions. */
  readonly isStored: boolean;

  /** `base`: the path of the value, for errors. Default: the value is a whole object. */
  constructor(
    base: FieldPath = new FieldPath(''),
    { keepsNulls = false, isStored = false }: DecodeOptions = {},
  ) {
    this.#base = base;
    this.keepsNulls = keepsNulls;
    this.isStored = isStored;
  }

  push(frame: string | number, isKey: boolean): void {
    this.#frames[this.#depth] = frame;
    this.#isKey[this.#depth++] = isKey;
  }

  pop(): void {
    this.#depth--;
  }

  /** Records a dropped field of the value. */
  unknownField(name: string): void {
    if (this.pruned.length >= MAX_UNKNOWN_FIELDS) return;
    let path = '';
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i]!;
      if (typeof frame === 'number') path += `[${frame}]`;
      else path += path === '' ? frame : `.${frame}`;
    }
    this.pruned.push(path === '' ? name : `${path}.${name}`);
  }

  /** Records dropped fields of the value's metadata. `names`: paths inside of the metadata. */
  unknownMetadata(names: readonly string[]): void {
    if (names.length === 0 || this.inMetadata.length >= MAX_UNKNOWN_FIELDS) return;
    const prefix = this.path().child('metadata').toString();
    this.inMetadata.push(...names.map((name) => `${prefix}.${name}`));
  }

  /** Returns the path to the value in the form of field errors. */
  path(): FieldPath {
    let path = this.#base;
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i]!;
      if (typeof frame === 'number') path = path.index(frame);
      else path = this.#isKey[i] === true ? path.key(frame) : path.child(frame);
    }
    return path;
  }
}
