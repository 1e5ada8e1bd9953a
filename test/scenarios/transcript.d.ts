export interface Step {
    /** What stands before the command: comments and blank lines. */
    readonly preamble: readonly string[];
    readonly command: string;
    readonly input: string;
}
export interface Transcript {
    readonly steps: readonly Step[];
    /** What stands after the last step. */
    readonly end: readonly string[];
}
/** Throws if a command has no separator after it. */
export declare function parseTranscript(text: string): Transcript;
/** One step with its answer, as the file has it. Blank lines would end the answer, so those in it are shown as a dot. */
export declare function formatStep(step: Step, output: string): string;
