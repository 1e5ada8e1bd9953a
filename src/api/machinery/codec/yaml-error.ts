/** A text is no YAML, or not such as an API object can be read from. */
export class YamlError extends Error {
  /** 1-based line, 0 if it is not known. */
  readonly line: number;
  /** 'duplicate': a map has a key twice; 'values': there are more values than there may be. */
  readonly reason: 'syntax' | 'duplicate' | 'values';

  constructor(message: string, line: number, reason: YamlError['reason'] = 'syntax') {
    super(message);
    this.name = 'YamlError';
    this.line = line;
    this.reason = reason;
  }
}
