export declare class Session {
    #private;
    /** The answer of one command; what the API refuses is an answer too. Throws if the transcript itself is wrong. */
    run(line: string, input: string): Promise<string>;
    stop(): Promise<void>;
}
