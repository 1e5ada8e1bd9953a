// The build that the command runs from.

export interface Build {
  /**
   * Whether the command loaded code that an earlier run with the same Node and flags had compiled.
   */
  readonly compiledBefore: boolean;
  /**
   * Keeps what has been compiled of the program since it began, for programs that start after this
   * one with the same Node and flags. Takes 0.1 s of the event loop. Answers the file's path.
   * Throws what writing a file throws.
   */
  keepCompiled(): string;
}
