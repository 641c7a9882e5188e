// The API path of the pending approvals: the frame counts them, the panel shows them.

export const approvalsPath = "/api/approvals";
