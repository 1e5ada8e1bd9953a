import type { Client } from '../../src/client/client.ts';
export declare class WriteCounter {
    #private;
    static start(client: Client): Promise<WriteCounter>;
    private constructor();
    /** A line for each resource and type of event. */
    stop(): Promise<string>;
}
