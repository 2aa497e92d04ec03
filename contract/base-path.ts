// Where the API begins on every server. By itself, for what needs nothing else of the contract.
export const base_path = '/public/api/v1'
