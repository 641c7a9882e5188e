// Where the open questions are listed: the frame counts them, the panel shows them.

export const approvalsPath = "/api/approvals";
