// Errors of bodies, with the messages of upstream's decoder, which clients and tests compare.

/** The JSON is well-formed, but no object of the expected type. */
export class DecodeError extends Error {
  /** The field, such as 'spec.containers[0].image'; '' for the whole body. */
  readonly path: string;

  constructor(message: string, path: string) {
    super(message);
    this.name = 'DecodeError';
    this.path = path;
  }
}

/** Returns the name of a JSON value's type in Go's decoder. */
export function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'number':
      return 'number';
    case 'string':
      return 'string';
    default:
      return 'object';
  }
}
