export const CreateObject = (_: { type: unknown; onClose: () => void }) => null;
