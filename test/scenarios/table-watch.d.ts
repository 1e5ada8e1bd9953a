import type { WatchEvent } from '../../src/client/transport.ts';
import type { VirtualClock } from '../../src/machinery/clock.ts';
import type { WatchStream } from '../../src/machinery/watch.ts';
import type { Table } from './table.ts';
export interface TableWatchConfig {
    readonly events: WatchStream<WatchEvent<Table>>;
    readonly clock: VirtualClock;
    /** Default: those that kubectl shows. */
    readonly columns: readonly string[] | undefined;
}
export declare class TableWatch {
    #private;
    constructor({ events, clock, columns }: TableWatchConfig);
    /** What has happened since this was called last; '' if nothing has. */
    take(): string;
    stop(): void;
}
