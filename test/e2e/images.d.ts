export declare function importBusybox(dataDir: string): Promise<void>;
