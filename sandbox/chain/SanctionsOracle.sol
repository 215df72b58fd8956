// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Stands in for the Chainalysis sanctions oracle: `isSanctioned(address) view returns (bool)`, selector 0xdf592f7d.
/// A faulty oracle is the sandbox's own addition; the original has no such switch.
contract SanctionsOracle {
    event SanctionedAddressesAdded(address[] addrs);
    event SanctionedAddressesRemoved(address[] addrs);

    uint8 private constant EMPTY_ANSWER = 1;
    uint8 private constant REVERT = 2;

    address public immutable owner = msg.sender;
    mapping(address => bool) private listed;
    uint8 private fault;

    modifier onlyOwner() {
        require(msg.sender == owner, "Ownable: caller is not the owner");
        _;
    }

    function name() external pure returns (string memory) {
        return "Sandbox sanctions oracle";
    }

    /// Addresses that end in bad1 are always listed.
    function isSanctioned(address addr) external view returns (bool) {
        if (fault == EMPTY_ANSWER) {
            // what eth_call returns on a chain without the contract
            assembly {
                return(0, 0)
            }
        }
        require(fault != REVERT, "out of order");
        return listed[addr] || uint16(uint160(addr)) == 0xbad1;
    }

    function addToSanctionsList(address[] memory newSanctions) external onlyOwner {
        for (uint256 i = 0; i < newSanctions.length; i++) listed[newSanctions[i]] = true;
        emit SanctionedAddressesAdded(newSanctions);
    }

    function removeFromSanctionsList(address[] memory removeSanctions) external onlyOwner {
        for (uint256 i = 0; i < removeSanctions.length; i++) listed[removeSanctions[i]] = false;
        emit SanctionedAddressesRemoved(removeSanctions);
    }

    function setFault(uint8 newFault) external onlyOwner {
        fault = newFault;
    }
}
