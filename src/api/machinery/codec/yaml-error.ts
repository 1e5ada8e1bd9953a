/** The text is not YAML, or not the YAML of an API object. */
export class YamlError extends Error {
  /** The line, from 1; 0 if unknown. */
  readonly line: number;
  /** 'duplicate': a map has a duplicate key. 'values': there are too many values. */
  readonly reason: 'syntax' | 'duplicate' | 'values';

  constructor(message: string, line: number, reason: YamlError['reason'] = 'syntax') {
    super(message);
    this.name = 'YamlError';
    this.line = line;
    this.reason = reason;
  }
}
