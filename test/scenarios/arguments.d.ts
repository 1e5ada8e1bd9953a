export interface Arguments {
    readonly name: string;
    readonly words: readonly string[];
    /** Throws when it is not given. */
    word(index: number): string;
    option(name: string): string | undefined;
    flag(name: string): boolean;
    /** Everything after the first argument as it stands, for commands such as label, whose arguments look like options. */
    rest(): readonly string[];
    /** Throws if something was given that the command did not look at: a transcript must not ask for what is ignored. */
    finish(): void;
}
export declare function parseArguments(line: string): Arguments;
