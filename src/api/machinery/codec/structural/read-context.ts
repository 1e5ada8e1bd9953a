// What reading an object carries along: where it is, and which fields it has dropped.

import { FieldPath } from '#machinery/validation/field.ts';

/** So many dropped fields are reported. Upstream reports all of them, which may be megabytes. */
const MAX_UNKNOWN_FIELDS = 100;

export class ReadContext {
  /** Fields that the schema does not have, in the order met. */
  readonly pruned: string[] = [];
  /** Fields inside of the metadata of embedded resources that metadata does not have, in the order met. */
  readonly inMetadata: string[] = [];
  /** Names and indices on the way to the value; `#depth` of them count. */
  readonly #frames: (string | number)[] = [];
  /** Of each frame, whether it is the key of a map: field errors write those in brackets. */
  readonly #isKey: boolean[] = [];
  #depth = 0;
  readonly #base: FieldPath;

  /** `base`: the path of the value, for errors. Default: it is a whole object. */
  constructor(base: FieldPath = new FieldPath('')) {
    this.#base = base;
  }

  push(frame: string | number, isKey: boolean): void {
    this.#frames[this.#depth] = frame;
    this.#isKey[this.#depth++] = isKey;
  }

  pop(): void {
    this.#depth--;
  }

  /** Records that a field of the value was dropped. */
  unknownField(name: string): void {
    if (this.pruned.length >= MAX_UNKNOWN_FIELDS) return;
    let path = '';
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i] as string | number;
      if (typeof frame === 'number') path += `[${frame}]`;
      else path += path === '' ? frame : `.${frame}`;
    }
    this.pruned.push(path === '' ? name : `${path}.${name}`);
  }

  /** Records fields of the value's metadata that were dropped. `names`: paths inside of the metadata. */
  unknownMetadata(names: readonly string[]): void {
    if (names.length === 0 || this.inMetadata.length >= MAX_UNKNOWN_FIELDS) return;
    const prefix = this.path().child('metadata').toString();
    this.inMetadata.push(...names.map((name) => `${prefix}.${name}`));
  }

  /** Returns the path to the value, as field errors write it. */
  path(): FieldPath {
    let path = this.#base;
    for (let i = 0; i < this.#depth; i++) {
      const frame = this.#frames[i] as string | number;
      if (typeof frame === 'number') path = path.index(frame);
      else path = this.#isKey[i] === true ? path.key(frame) : path.child(frame);
    }
    return path;
  }
}
